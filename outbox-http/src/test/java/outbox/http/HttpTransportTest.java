package outbox.http;

import com.sun.net.httpserver.HttpExchange;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.dispatch.CircuitBreaker;
import outbox.model.OutboxEvent;
import outbox.spi.ErrorText;
import outbox.testing.TestClock;

import java.io.IOException;
import java.net.ConnectException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HttpTransportTest {

    private static final WebhookSecret SECRET = WebhookSecret.of(new byte[32]);
    private static final Instant NOW = Instant.parse("2026-05-01T10:00:00Z");
    private static final Clock CLOCK = Clock.fixed(NOW, ZoneOffset.UTC);

    private final List<AutoCloseable> open = new ArrayList<>();
    private final Receiver receiver = closing(new Receiver());

    @AfterEach
    void closeAll() throws Exception {
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
    }

    private <T extends AutoCloseable> T closing(T resource) {
        open.add(resource);
        return resource;
    }

    private static HttpTransport.Builder to(URI endpoint) {
        return HttpTransport.named("crm")
                .endpoint(endpoint)
                .source(URI.create("/shop/orders"))
                .clock(CLOCK)
                .drainTime(Duration.ZERO);
    }

    private HttpTransport transport() {
        return closing(to(receiver.uri()).build());
    }

    private static EventEnvelope event() {
        return EventEnvelope.builder("OrderPlaced").payloadJson("{\"n\":1}").build();
    }

    /** Returns the failure, or null if the event was delivered. */
    private static @Nullable Throwable outcome(HttpTransport transport, EventEnvelope event) throws Exception {
        try {
            transport.onEventAsync(event).toCompletableFuture().get(20, TimeUnit.SECONDS);
            return null;
        } catch (ExecutionException e) {
            return requireNonNull(e.getCause());
        }
    }

    private Throwable outcomeOf(Receiver.Reaction reaction) throws Exception {
        receiver.reaction = reaction;
        return requireNonNull(outcome(transport(), event()), "it was delivered");
    }

    // ---- requests ----

    @Test
    void an_event_arrives_as_a_cloud_event_in_binary_mode() throws Exception {
        EventEnvelope event = EventEnvelope.builder("OrderPlaced")
                .aggregateType("Order")
                .aggregateId("42")
                .tenantId("acme")
                .occurredAt(Instant.parse("2026-04-30T08:09:10.123456Z"))
                .header("sequence", "17")
                .header("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
                .header("tracestate", "vendor=a,other=b c")
                .header("x-internal", "stays here")
                .payloadJson("{\"näme\": \"Łódź\"}")
                .build();

        assertThat(outcome(transport(), event)).isNull();

        Receiver.Received got = receiver.only();
        assertThat(got.method()).isEqualTo("POST");
        assertThat(got.path()).isEqualTo("/events?tenant=1");
        assertThat(got.text()).isEqualTo("{\"näme\": \"Łódź\"}");
        assertThat(got.header("content-type")).isEqualTo("application/json");
        assertThat(got.header("ce-specversion")).isEqualTo("1.0");
        assertThat(got.header("ce-id")).isEqualTo(event.eventId());
        assertThat(got.header("ce-type")).isEqualTo("OrderPlaced");
        assertThat(got.header("ce-source")).isEqualTo("/shop/orders");
        assertThat(got.header("ce-time")).isEqualTo("2026-04-30T08:09:10.123456Z");
        assertThat(got.header("ce-subject")).isEqualTo("Order/42");
        assertThat(got.header("ce-tenantid")).isEqualTo("acme");
        assertThat(got.header("ce-sequence")).isEqualTo("17");
        assertThat(got.header("traceparent")).isEqualTo("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        assertThat(got.header("tracestate")).isEqualTo("vendor=a,other=b c");
        assertThat(got.header("idempotency-key")).isEqualTo(event.eventId());
        assertThat(got.headers().keySet())
                .noneMatch(name -> name.equalsIgnoreCase("x-internal") || name.equalsIgnoreCase("ce-x-internal"));
        assertThat(got.has("webhook-signature")).isFalse();
    }

    @Test
    void version_correlation_and_causation_arrive_as_attributes_if_they_were_given() throws Exception {
        EventEnvelope event = EventEnvelope.builder("OrderPlaced")
                .schemaVersion(2)
                .correlationId("request 1")
                .causationId("event-1")
                .payloadJson("{}")
                .build();

        assertThat(outcome(transport(), event)).isNull();

        Receiver.Received got = receiver.only();
        assertThat(got.header("ce-schemaversion")).isEqualTo("2");
        assertThat(got.header("ce-correlationid")).isEqualTo("request%201");
        assertThat(got.header("ce-causationid")).isEqualTo("event-1");
    }

    @Test
    void a_relayed_event_arrives_with_its_number_in_the_table() throws Exception {
        EventEnvelope event = EventEnvelope.restore(new OutboxEvent(
                "1",
                "org.organization.created.v1",
                null,
                null,
                null,
                "{}",
                "{\"outbox-sequence\":\"4711\",\"sequence\":\"17\",\"outbox-attempts\":\"2\"}",
                1,
                Instant.parse("2026-04-30T08:09:10Z")));

        assertThat(outcome(transport(), event)).isNull();

        assertThat(receiver.only().header("ce-sequence")).isEqualTo("4711");
    }

    @Test
    void a_payload_of_bytes_arrives_as_it_is_with_its_own_type() throws Exception {
        byte[] bytes = {0, (byte) 0xff, 10, 13, (byte) 0x80};
        HttpTransport transport = transport();
        outcome(transport, EventEnvelope.builder("B").payloadBytes(bytes).build());
        outcome(
                transport,
                EventEnvelope.builder("B")
                        .payloadBytes(bytes)
                        .header("Content-Type", "application/avro; v=1")
                        .build());
        outcome(transport, EventEnvelope.builder("B").payloadBytes(new byte[0]).build());

        assertThat(receiver.received).hasSize(3);
        assertThat(receiver.received.get(0).body()).isEqualTo(bytes);
        assertThat(receiver.received.get(0).header("content-type")).isEqualTo("application/octet-stream");
        assertThat(receiver.received.get(1).header("content-type")).isEqualTo("application/avro; v=1");
        assertThat(receiver.received.get(2).body()).isEmpty();
    }

    @Test
    void a_signature_is_that_of_standard_webhooks_and_receivers_can_verify_it() throws Exception {
        WebhookSecret next = WebhookSecret.of("another-secret-of-32-bytes-xxxxx".getBytes(StandardCharsets.UTF_8));
        HttpTransport transport =
                closing(to(receiver.uri()).signWith(SECRET).signWith(next).build());
        EventEnvelope event = event();

        outcome(transport, event);

        Receiver.Received got = receiver.only();
        String id = got.header("webhook-id");
        String time = got.header("webhook-timestamp");
        String signature = got.header("webhook-signature");
        assertThat(id).isEqualTo(event.eventId());
        assertThat(time).isEqualTo(Long.toString(NOW.getEpochSecond()));
        assertThat(signature).matches("v1,[A-Za-z0-9+/=]{44} v1,[A-Za-z0-9+/=]{44}");
        for (WebhookSecret one : List.of(SECRET, next)) {
            assertThat(WebhookVerifier.of(one).withClock(CLOCK).isGenuine(id, time, signature, got.body()))
                    .isTrue();
        }
        assertThat(WebhookVerifier.of(SECRET).withClock(CLOCK).isGenuine(id, time, signature, new byte[0]))
                .isFalse();
    }

    @Test
    void nothing_in_an_event_can_make_a_header_of_its_own() throws Exception {
        String evil = "a\r\nx-evil: 1\r\n\r\nü\u2028 \"%";
        HttpTransport transport = closing(to(receiver.uri()).signWith(SECRET).build());
        EventEnvelope event = EventEnvelope.builder(evil)
                .eventId("x\r\nx-evil: 1")
                .aggregateType(evil)
                .aggregateId(evil)
                .tenantId(evil)
                .header("attribute", evil)
                .header("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\nx-evil: 1")
                .header("tracestate", evil)
                .payloadJson("{}")
                .build();

        assertThat(outcome(transport, event)).isNull();

        Receiver.Received got = receiver.only();
        assertThat(got.has("x-evil")).isFalse();
        assertThat(got.has("traceparent")).isFalse();
        assertThat(got.has("tracestate")).isFalse();
        assertThat(got.header("ce-type")).isEqualTo("a%0D%0Ax-evil:%201%0D%0A%0D%0A%C3%BC%E2%80%A8%20%22%25");
        assertThat(got.header("ce-attribute")).isEqualTo(got.header("ce-type"));
        assertThat(got.header("webhook-id")).isEqualTo("x%0D%0Ax-evil:%201");
        assertThat(outcome(
                        transport,
                        EventEnvelope.builder("T")
                                .header("content-type", "text/plain\r\nx-evil: 1")
                                .payloadJson("{}")
                                .build()))
                .isInstanceOf(GiveUpException.class);
        assertThat(receiver.received).hasSize(1);
    }

    @Test
    void further_headers_are_sent_and_those_of_others_refused() throws Exception {
        HttpTransport transport = closing(
                to(receiver.uri()).header("Authorization", "Bearer t0k3n").build());

        outcome(transport, event());

        assertThat(receiver.only().header("authorization")).isEqualTo("Bearer t0k3n");
        assertThat(transport.toString()).doesNotContain("t0k3n").doesNotContain("tenant");
        for (String name :
                List.of("Host", "Content-Length", "ce-id", "Webhook-Id", "Content-Type", "a b", "", "x\r\n")) {
            assertThatThrownBy(() -> to(receiver.uri()).header(name, "v"))
                    .as(name)
                    .isInstanceOf(IllegalArgumentException.class);
        }
        assertThatThrownBy(() -> to(receiver.uri()).header("X-A", "secret\r\nx-evil: 1"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageNotContaining("secret");
    }

    @Test
    void an_oversize_payload_is_given_up_without_a_request() throws Exception {
        HttpTransport transport = closing(to(receiver.uri()).maxBodyBytes(6).build());

        assertThat(outcome(transport, event()))
                .isInstanceOf(GiveUpException.class)
                .hasMessageContaining("7 bytes");
        assertThat(receiver.received).isEmpty();
    }

    // ---- responses ----

    @ParameterizedTest
    @ValueSource(ints = {200, 201, 202, 204, 299})
    void a_status_of_2xx_is_delivered(int status) throws Exception {
        receiver.reaction = Receiver.status(status);

        assertThat(outcome(transport(), event())).isNull();
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 409, 410, 413, 415, 422})
    void what_repeating_cannot_mend_is_given_up(int status) throws Exception {
        Throwable failure = outcomeOf(Receiver.answer(status, "why\tnot\n"));

        assertThat(failure)
                .isInstanceOf(GiveUpException.class)
                .hasMessageContaining(" answered " + status + " to event ")
                .hasMessageContaining("type OrderPlaced")
                .hasMessageNotContaining("/events")
                .hasMessageEndingWith(": why not");
        assertThat(receiver.received).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {300, 301, 302, 304, 307, 308, 401, 403, 404})
    void wrong_credentials_and_a_wrong_address_cost_no_attempt_and_redirects_are_not_followed(int status)
            throws Exception {
        CircuitBreaker breaker = CircuitBreaker.named("crm").build();
        receiver.reaction = Receiver.answer(status, status == 304 ? "" : "why\tnot\n", "Location", "/other");

        Throwable with = outcome(closing(to(receiver.uri()).breaker(breaker).build()), event());
        Throwable without = outcome(transport(), event());

        for (Throwable failure : List.of(requireNonNull(with), requireNonNull(without))) {
            assertThat(failure)
                    .isInstanceOfSatisfying(RetryLaterException.class, later -> {
                        assertThat(later.isCounted()).isFalse();
                        assertThat(later.delay()).isEqualTo(Duration.ofSeconds(1));
                    })
                    .hasMessageContaining(" answered " + status + " to event ")
                    .hasMessageContaining("type OrderPlaced")
                    .hasMessageNotContaining("/events");
        }
        assertThat(breaker.state()).isEqualTo(CircuitBreaker.State.OPEN);
        assertThat(breaker.reason()).endsWith("answered " + status);
        assertThat(receiver.received).hasSize(2);
    }

    @Test
    void the_wait_grows_with_the_outage_up_to_a_minute_and_the_alarm_is_given_once_for_each() throws Exception {
        TestClock clock = new TestClock();
        HttpTransport transport = closing(to(receiver.uri()).clock(clock).build());
        try (ErrorLines alarms = ErrorLines.of(Verdict.class)) {
            receiver.reaction = Receiver.answer(401, "expired");
            assertThat(delay(transport)).isEqualTo(Duration.ofSeconds(1));
            clock.advance(Duration.ofSeconds(7));
            assertThat(delay(transport)).isBetween(Duration.ofSeconds(7), Duration.ofSeconds(50)); // the clock ticks
            clock.advance(Duration.ofHours(1));
            assertThat(delay(transport)).isEqualTo(Duration.ofMinutes(1));
            assertThat(alarms.lines())
                    .singleElement()
                    .asString()
                    .contains("http://127.0.0.1", " answered 401.", "Correct the credentials")
                    .doesNotContain("/events");

            receiver.reaction = Receiver.status(200);
            assertThat(outcome(transport, event())).isNull();
            receiver.reaction = Receiver.status(403);

            assertThat(delay(transport)).isEqualTo(Duration.ofSeconds(1));
            assertThat(alarms.lines()).hasSize(2);
        }
    }

    private static Duration delay(HttpTransport transport) throws Exception {
        return ((RetryLaterException) requireNonNull(outcome(transport, event()))).delay();
    }

    @Test
    void an_event_that_is_refused_again_after_another_one_was_delivered_is_to_blame_itself() throws Exception {
        CircuitBreaker breaker = CircuitBreaker.named("crm").build();
        HttpTransport transport = closing(to(receiver.uri()).breaker(breaker).build());
        EventEnvelope poison = event();
        receiver.reaction = Receiver.answer(404, "no such order");

        assertThat(outcome(transport, poison)).isInstanceOf(RetryLaterException.class);
        assertThat(outcome(transport, poison)).isInstanceOf(RetryLaterException.class);
        receiver.reaction = Receiver.status(200);
        assertThat(outcome(transport, event())).isNull();
        receiver.reaction = Receiver.answer(404, "no such order");

        assertThat(outcome(transport, poison))
                .isInstanceOfSatisfying(
                        HttpStatusException.class, e -> assertThat(e.status()).isEqualTo(404));
    }

    @Test
    void a_delivery_that_began_before_the_refusal_says_nothing_about_the_time_after_it() throws Exception {
        BlockingQueue<HttpExchange> held = new LinkedBlockingQueue<>();
        receiver.reaction = held::add;
        HttpTransport transport = transport();
        CompletableFuture<?> before = transport.onEventAsync(event()).toCompletableFuture();
        HttpExchange early = requireNonNull(held.poll(10, TimeUnit.SECONDS));
        EventEnvelope event = event();
        receiver.reaction = Receiver.status(401);
        assertThat(outcome(transport, event)).isInstanceOf(RetryLaterException.class);

        Receiver.status(200).to(early);
        before.get(20, TimeUnit.SECONDS);

        assertThat(outcome(transport, event)).isInstanceOf(RetryLaterException.class);
    }

    @Test
    void many_events_given_up_in_a_row_open_the_breaker_and_no_more_are_given_up() throws Exception {
        CircuitBreaker breaker = CircuitBreaker.named("crm").build();
        HttpTransport transport = closing(to(receiver.uri()).breaker(breaker).build());
        receiver.reaction = Receiver.answer(422, "no");
        EventEnvelope same = event();
        for (int i = 0; i < 100; i++) {
            assertThat(outcome(transport, same)).isInstanceOf(GiveUpException.class); // the same event repeatedly
        }
        for (int i = 2; i < 20; i++) {
            assertThat(outcome(transport, event())).isInstanceOf(GiveUpException.class);
        }
        assertThat(breaker.state()).isEqualTo(CircuitBreaker.State.CLOSED);

        EventEnvelope twentieth = event();

        assertThat(outcome(transport, twentieth)).isInstanceOf(RetryLaterException.class);
        assertThat(breaker.state()).isEqualTo(CircuitBreaker.State.OPEN);
        assertThat(breaker.reason()).endsWith("refused 20 events in a row, the last with 422");
        assertThat(outcome(transport, event())).isInstanceOf(RetryLaterException.class);
        receiver.reaction = Receiver.status(200);
        assertThat(outcome(transport, event())).isNull();
        receiver.reaction = Receiver.answer(422, "no");
        assertThat(outcome(transport, twentieth)).isInstanceOf(GiveUpException.class);
    }

    @Test
    void the_credentials_are_asked_for_with_every_event_and_never_shown() throws Exception {
        AtomicReference<String> token = new AtomicReference<>("Bearer t0k3n-one");
        HttpTransport transport =
                closing(to(receiver.uri()).authorization(token::get).build());

        assertThat(outcome(transport, event())).isNull();
        token.set("Bearer t0k3n-two");
        receiver.reaction = Receiver.answer(401, "Your token t0k3n-two has expired");
        Throwable refused = outcome(transport, event());

        assertThat(receiver.received)
                .extracting(got -> got.header("authorization"))
                .containsExactly("Bearer t0k3n-one", "Bearer t0k3n-two");
        assertThat(refused).hasMessageEndingWith("Your token [credentials] has expired");
        for (String wrong : List.of("", " Bearer x", "Bearer t0k3n\r\nx-evil: 1", "Bearer t0k3n\n", "Bearer tökén")) {
            token.set(wrong);
            assertThat(outcome(transport, event()))
                    .isInstanceOfSatisfying(
                            RetryLaterException.class,
                            later -> assertThat(later.isCounted()).isFalse())
                    .hasMessageContaining("Authorization is not printable ASCII")
                    .hasMessageNotContaining("t0k3n");
        }
        HttpTransport failing = closing(to(receiver.uri())
                .authorization(() -> {
                    throw new IllegalStateException("t0k3n");
                })
                .build());
        assertThat(outcome(failing, event()))
                .isInstanceOf(RetryLaterException.class)
                .hasMessageContaining("the supplier of the header Authorization threw")
                .hasMessageNotContaining("t0k3n");
        assertThat(receiver.received).hasSize(2);
        assertThatThrownBy(() -> to(receiver.uri())
                        .header("Authorization", "a")
                        .authorization(token::get)
                        .build())
                .hasMessageContaining("remove one of them");
    }

    @ParameterizedTest
    @ValueSource(ints = {402, 405, 406, 408, 411, 418, 423, 425, 429, 431, 451, 499, 500, 501, 502, 503, 504, 599})
    void a_status_that_may_change_is_a_failed_attempt(int status) throws Exception {
        Throwable failure = outcomeOf(Receiver.answer(status, "trouble"));

        assertThat(failure).isInstanceOf(HttpStatusException.class).hasMessageEndingWith(": trouble");
        assertThat(((HttpStatusException) failure).status()).isEqualTo(status);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "429 | 7 | 7 | false",
                "503 | 7 | 7 | false",
                "503 | 0 | 0 | false",
                "408 | 7 | 7 | true",
                "500 | 7 | 7 | true",
                "502 | 7 | 7 | true",
                "503 | 99999999999999999999999 | 3600 | false",
                "503 | 86400 | 3600 | false",
            })
    void a_retry_after_is_honoured_within_bounds_and_counted_unless_the_receiver_is_busy(
            int status, String value, long seconds, boolean counted) throws Exception {
        Throwable failure = outcomeOf(Receiver.answer(status, "later", "Retry-After", value));

        assertThat(failure).isInstanceOf(RetryLaterException.class).hasMessageEndingWith(": later");
        RetryLaterException word = (RetryLaterException) failure;
        assertThat(word.delay()).isEqualTo(Duration.ofSeconds(seconds));
        assertThat(word.isCounted()).isEqualTo(counted);
    }

    @Test
    void a_date_to_retry_after_is_counted_from_the_date_of_the_answer() throws Exception {
        RawServer server = closing(new RawServer(RawServer.says("""
                HTTP/1.1 503 Busy\r
                Date: Fri, 01 May 2020 10:00:00 GMT\r
                Retry-After: Fri, 01 May 2020 10:00:30 GMT\r
                Content-Length: 0\r
                \r
                """)));

        assertThat(outcome(closing(to(server.uri()).build()), event()))
                .isInstanceOfSatisfying(
                        RetryLaterException.class,
                        word -> assertThat(word.delay()).isEqualTo(Duration.ofSeconds(30)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"soon", "-1", "1.5", "Fri, 99 May 2026 10:00:30 GMT"})
    void a_retry_after_that_nobody_understands_is_none(String value) throws Exception {
        assertThat(outcomeOf(Receiver.answer(503, "", "Retry-After", value))).isInstanceOf(HttpStatusException.class);
    }

    @Test
    void a_long_answer_is_cut_and_the_payload_it_quotes_left_out() throws Exception {
        receiver.reaction =
                Receiver.answer(400, "bad: {\n \\\"card\\\" : \\\"4111 1111 1111 1111 of Ada\\\" } " + "x".repeat(700));
        EventEnvelope event = EventEnvelope.builder("T")
                .payloadJson("{\"card\":\"4111111111111111 of Ada\"}")
                .build();

        Throwable failure = requireNonNull(outcome(transport(), event));

        assertThat(failure)
                .hasMessageContaining(": bad: { \\\"[payload]\\\" } xxx")
                .hasMessageEndingWith("x…");
        assertThat(requireNonNull(failure.getMessage()).replaceAll("(?s).*: bad", "bad"))
                .hasSizeLessThanOrEqualTo(AnswerText.MAX_LENGTH + 1)
                .doesNotContain("4111");
    }

    // ---- missing and incomplete responses ----

    @Test
    void a_server_that_is_down_is_a_failed_attempt_that_says_where() throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket()) {
            free.bind(Receiver.address(0));
            port = free.getLocalPort();
        }
        HttpTransport transport = closing(
                to(URI.create("http://127.0.0.1:" + port + "/secret-path")).build());

        assertThat(outcome(transport, event()))
                .isInstanceOf(ConnectException.class)
                .hasMessage("http://127.0.0.1:" + port + " cannot be reached");
    }

    @Test
    void a_name_that_nobody_knows_is_a_failed_attempt() throws Exception {
        HttpTransport transport =
                closing(to(URI.create("http://nobody.invalid/")).build());

        assertThat(outcome(transport, event())).isInstanceOf(ConnectException.class);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "", // cut before the response
                "HTTP/1.1 200 O", // in its first line
                "HTTP/1.1 200 OK\r\nContent-Len", // in its head
                "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", // in its body
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", // in a chunk
                "HTTP/1.1 400 Bad\r\nContent-Length: 100\r\n\r\nabc",
                "SMTP hello\r\n\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            })
    void an_answer_that_breaks_off_or_is_none_is_a_failed_attempt(String answer) throws Exception {
        RawServer server = closing(new RawServer(RawServer.says(answer)));
        HttpTransport transport = closing(to(server.uri()).build());

        assertThat(outcome(transport, event()))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith("The connection to http://127.0.0.1")
                .hasMessageContaining(" broke off: ")
                .hasNoCause();
    }

    @Test
    void a_server_that_throws_the_payload_back_does_not_get_it_into_the_reason() throws Exception {
        String payload = "{\"iban\":\"DE02120300000000202051\"}";
        RawServer server = closing(new RawServer(RawServer.says(payload + "\r\n\r\n")));

        Throwable failure = requireNonNull(outcome(
                closing(to(server.uri()).build()),
                EventEnvelope.builder("T").payloadJson(payload).build()));

        assertThat(ErrorText.of(failure)).contains("broke off: ").doesNotContain("DE02");
    }

    @Test
    void a_server_that_does_not_answer_is_a_failed_attempt_at_the_limit() throws Exception {
        receiver.reaction = exchange -> {}; // keeps the request open
        HttpTransport transport = closing(to(receiver.uri())
                .connectTimeLimit(Duration.ofMillis(300))
                .requestTimeLimit(Duration.ofMillis(300))
                .build());

        assertThat(outcome(transport, event()))
                .isInstanceOf(HttpTimeoutException.class)
                .hasMessageContaining("did not answer within PT0.3S");
    }

    @Test
    void an_answer_that_trickles_is_cut_at_the_limit_and_the_connection_closed() throws Exception {
        CountDownLatch stop = new CountDownLatch(1);
        RawServer server = closing(new RawServer(client -> {
            RawServer.says("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n").with(client);
            while (!interruptible(stop, 20)) {
                client.write('x');
                client.flush();
            }
        }));
        HttpTransport transport = closing(to(server.uri())
                .connectTimeLimit(Duration.ofMillis(500))
                .requestTimeLimit(Duration.ofMillis(500))
                .build());

        assertThat(outcome(transport, event())).isInstanceOf(HttpTimeoutException.class);
        assertThat(server.hungUp.await(10, TimeUnit.SECONDS)).isTrue();
        stop.countDown();
    }

    private static boolean interruptible(CountDownLatch latch, long millis) throws IOException {
        try {
            return latch.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {200, 400})
    void an_endless_answer_is_read_a_little_and_the_connection_closed(int status) throws Exception {
        RawServer server = closing(new RawServer(client -> {
            RawServer.says("HTTP/1.1 " + status + " X\r\nConnection: close\r\n\r\n")
                    .with(client);
            byte[] much = "y".repeat(10_000).getBytes(StandardCharsets.US_ASCII);
            for (int i = 0; i < 100_000; i++) { // 1 GB, unless the client closes the connection
                client.write(much);
            }
        }));
        HttpTransport transport = closing(to(server.uri()).build());

        Throwable failure = outcome(transport, event());

        if (status == 200) {
            assertThat(failure).isNull();
        } else {
            assertThat(failure).isInstanceOf(GiveUpException.class).hasMessageEndingWith("yyy…");
        }
        assertThat(server.hungUp.await(10, TimeUnit.SECONDS)).isTrue();
    }

    // ---- in flight ----

    @Test
    void hundreds_are_in_flight_with_a_handful_of_threads() throws Exception {
        BlockingQueue<HttpExchange> held = new LinkedBlockingQueue<>();
        receiver.reaction = held::add;
        HttpTransport transport = closing(to(receiver.uri()).maxInFlight(300).build());
        outcomeOfHeld(transport, held); // loads all classes and starts all threads
        int before = Thread.getAllStackTraces().size();

        List<CompletableFuture<?>> stages = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            stages.add(transport.onEventAsync(event()).toCompletableFuture());
        }
        await().atMost(Duration.ofSeconds(20)).until(() -> held.size() == 300);

        assertThat(Thread.getAllStackTraces().size() - before).isLessThan(10);
        assertThat(stages).noneMatch(CompletableFuture::isDone);
        for (HttpExchange exchange : held) {
            Receiver.status(200).to(exchange);
        }
        CompletableFuture.allOf(stages.toArray(CompletableFuture<?>[]::new)).get(20, TimeUnit.SECONDS);
        await().until(() -> transport.toString().contains(", 0 in flight"));
    }

    private static void outcomeOfHeld(HttpTransport transport, BlockingQueue<HttpExchange> held) throws Exception {
        CompletableFuture<?> stage = transport.onEventAsync(event()).toCompletableFuture();
        Receiver.status(200).to(requireNonNull(held.poll(10, TimeUnit.SECONDS)));
        stage.get(10, TimeUnit.SECONDS);
    }

    @Test
    void a_cancelled_stage_closes_its_connection() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        RawServer server = closing(new RawServer(client -> {
            asked.countDown();
            RawServer.says("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").with(client);
            for (int i = 0; i < 1000; i++) {
                client.write('x');
                client.flush();
                interruptible(new CountDownLatch(1), 10);
            }
        }));
        HttpTransport transport = closing(to(server.uri()).build());
        CompletableFuture<?> stage = transport.onEventAsync(event()).toCompletableFuture();
        assertThat(asked.await(10, TimeUnit.SECONDS)).isTrue();

        stage.cancel(true);

        assertThat(server.hungUp.await(10, TimeUnit.SECONDS)).isTrue();
        assertThat(transport.toString()).contains(", 0 in flight");
    }

    @Test
    void a_close_waits_for_what_is_in_flight() throws Exception {
        BlockingQueue<HttpExchange> held = new LinkedBlockingQueue<>();
        receiver.reaction = held::add;
        HttpTransport transport =
                closing(to(receiver.uri()).drainTime(Duration.ofSeconds(20)).build());
        CompletableFuture<?> stage = transport.onEventAsync(event()).toCompletableFuture();
        HttpExchange exchange = requireNonNull(held.poll(10, TimeUnit.SECONDS));
        CompletableFuture<Void> closed = CompletableFuture.runAsync(transport::close);

        await().pollDelay(Duration.ofMillis(200)).until(() -> !closed.isDone());
        Receiver.status(200).to(exchange);

        closed.get(10, TimeUnit.SECONDS);
        assertThat(stage).isCompleted();
    }

    @Test
    void what_a_close_cuts_short_or_comes_after_it_loses_no_attempt() throws Exception {
        receiver.reaction = exchange -> {};
        HttpTransport transport = transport();
        CompletableFuture<?> stage = transport.onEventAsync(event()).toCompletableFuture();
        await().until(() -> !receiver.received.isEmpty());

        transport.close();
        transport.close();

        assertThatThrownBy(() -> stage.get(1, TimeUnit.SECONDS))
                .cause()
                .isInstanceOfSatisfying(
                        RetryLaterException.class,
                        word -> assertThat(word.isCounted()).isFalse());
        assertThat(outcome(transport, event()))
                .isInstanceOfSatisfying(
                        RetryLaterException.class,
                        word -> assertThat(word.isCounted()).isFalse());
    }

    @Test
    void a_close_leaves_no_thread_behind() throws Exception {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        HttpTransport transport = closing(HttpTransport.named("leak")
                .endpoint(receiver.uri())
                .source(URI.create("/s"))
                .build());
        outcome(transport, event());
        List<Thread> started = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> !before.contains(thread))
                .filter(thread -> thread.getName().startsWith("outbox-leak-")
                        || thread.getName().startsWith("HttpClient-"))
                .toList();
        assertThat(started).extracting(Thread::getName).anyMatch(name -> name.startsWith("HttpClient-"));

        transport.close();

        await().atMost(Duration.ofSeconds(30)).until(() -> {
            System.gc(); // before Java 21 the client ends when it is garbage-collected
            return started.stream().noneMatch(Thread::isAlive);
        });
    }

    // ---- the breaker ----

    @Test
    void the_breaker_is_opened_by_a_server_that_is_down_or_busy_and_not_by_a_failed_attempt() throws Exception {
        CircuitBreaker breaker = CircuitBreaker.named("crm").build();
        HttpTransport transport = closing(to(receiver.uri()).breaker(breaker).build());
        for (Receiver.Reaction harmless : List.of(
                Receiver.status(200),
                Receiver.status(400),
                Receiver.status(418),
                Receiver.status(500),
                Receiver.status(503),
                Receiver.answer(500, "", "Retry-After", "1"))) {
            receiver.reaction = harmless;
            outcome(transport, event());
            assertThat(breaker.state()).isEqualTo(CircuitBreaker.State.CLOSED);
        }

        receiver.reaction = Receiver.answer(429, "", "Retry-After", "1");
        outcome(transport, event());

        assertThat(breaker.state()).isEqualTo(CircuitBreaker.State.OPEN);
        assertThat(breaker.reason()).endsWith("answered 429 with Retry-After");

        receiver.close();
        CircuitBreaker other = CircuitBreaker.named("crm").build();
        outcome(closing(to(receiver.uri()).breaker(other).build()), event());
        assertThat(other.reason()).endsWith("cannot be reached");
    }

    // ---- settings ----

    @Test
    void wrong_settings_are_refused() {
        for (String uri : List.of("/relative", "ftp://host/", "http:opaque", "http://u:p@host/", "http://host/#f")) {
            assertThatThrownBy(() -> to(URI.create(uri))).as(uri).isInstanceOf(IllegalArgumentException.class);
        }
        HttpTransport.Builder builder = to(receiver.uri());
        assertThatThrownBy(() -> HttpTransport.named(" ")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> HttpTransport.named("x").build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("endpoint");
        assertThatThrownBy(() -> builder.source(URI.create(""))).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> builder.maxInFlight(0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> builder.maxBodyBytes(0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> builder.requestTimeLimit(Duration.ZERO)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> builder.connectTimeLimit(Duration.ofHours(1)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> builder.longestRetryAfter(Duration.ofDays(2)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> builder.drainTime(Duration.ofSeconds(-1)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> builder.connectTimeLimit(Duration.ofMinutes(1)).build())
                .hasMessageContaining("must not be longer than requestTimeLimit");
    }

    @Test
    void a_secret_is_refused_without_showing_it() {
        String good = Base64.getEncoder().encodeToString(new byte[24]);
        WebhookSecret.parse("whsec_" + good);
        for (String wrong : List.of(good, "whsec_", "whsec_c2hvcnQ=", "whsec_!" + good)) {
            assertThatThrownBy(() -> WebhookSecret.parse(wrong))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("A webhook secret")
                    .hasMessageNotContaining(good)
                    .hasNoCause();
        }
        assertThat(SECRET.toString()).isEqualTo("WebhookSecret[32 bytes]");
    }
}
