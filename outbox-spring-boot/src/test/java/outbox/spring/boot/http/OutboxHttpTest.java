package outbox.spring.boot.http;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import outbox.EventEnvelope;
import outbox.http.HttpTransport;
import outbox.spring.OutboxListeners;
import outbox.spring.boot.Contexts;
import outbox.spring.boot.OutboxInstance;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;

@Timeout(60)
class OutboxHttpTest {

    private static final String SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    private final BlockingQueue<HttpExchange> received = new LinkedBlockingQueue<>();
    private HttpServer server;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
            received.add(exchange);
        });
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private ApplicationContextRunner endpoint(String... more) {
        return Contexts.runner()
                .withPropertyValues(
                        "outbox.http.endpoints[0].name=partner",
                        "outbox.http.endpoints[0].type=order.*,bill.sent",
                        "outbox.http.endpoints[0].url=http://127.0.0.1:"
                                + server.getAddress().getPort() + "/hook?token=t0psecret")
                .withPropertyValues(more);
    }

    private HttpExchange receive() throws InterruptedException {
        HttpExchange exchange = received.poll(20, TimeUnit.SECONDS);
        assertThat(exchange).isNotNull();
        return exchange;
    }

    private static EventEnvelope event(String type) {
        return EventEnvelope.builder(type)
                .aggregateType("Order")
                .payloadJson("{}")
                .build();
    }

    @Test
    void events_are_posted_to_their_endpoint() {
        endpoint(
                        "outbox.http.endpoints[0].source=/shop",
                        "outbox.http.endpoints[0].secrets=" + SECRET,
                        "outbox.http.endpoints[0].headers.Authorization=Bearer abc")
                .run(context -> {
                    Contexts.write(context, event("order.created"));
                    Contexts.write(context, event("bill.sent"));

                    HttpExchange exchange = receive();
                    assertThat(exchange.getRequestURI()).hasToString("/hook?token=t0psecret");
                    assertThat(exchange.getRequestHeaders().getFirst("ce-source"))
                            .isEqualTo("/shop");
                    assertThat(exchange.getRequestHeaders().getFirst("webhook-signature"))
                            .startsWith("v1,");
                    assertThat(exchange.getRequestHeaders().getFirst("Authorization"))
                            .isEqualTo("Bearer abc");
                    receive();
                });
    }

    @Test
    void only_the_aggregates_that_are_asked_for_are_posted() {
        endpoint("outbox.http.endpoints[0].aggregate=Bill", "outbox.retry.max-attempts=1")
                .run(context -> assertThat(context.getBean(OutboxInstance.class).listeners())
                        .satisfies(listeners -> {
                            assertThat(listeners.listenerFor("Bill", "order.created"))
                                    .isInstanceOf(HttpTransport.class);
                            assertThat(listeners.listenerFor("Order", "order.created"))
                                    .isNull();
                        }));
    }

    @Test
    void the_settings_of_the_transport_are_those_of_the_properties() {
        endpoint(
                        "outbox.http.endpoints[0].connect-time-limit=3s",
                        "outbox.http.endpoints[0].request-time-limit=4s",
                        "outbox.http.endpoints[0].longest-retry-after=5m",
                        "outbox.http.endpoints[0].drain-time=1s",
                        "outbox.http.endpoints[0].max-in-flight=9",
                        "outbox.http.endpoints[0].max-body-size=10B",
                        "outbox.http.endpoints[0].breaker.open-for=8s")
                .run(context -> {
                    OutboxInstance outbox = context.getBean(OutboxInstance.class);
                    OutboxListeners.Entry entry = outbox.listeners().entries().get(0);
                    HttpTransport transport = (HttpTransport) entry.listener();
                    assertThat(transport.maxInFlight()).isEqualTo(9);
                    assertThat(Contexts.field(transport, "requestTimeLimit")).isEqualTo(Duration.ofSeconds(4));
                    assertThat(entry.timeLimit()).isEqualTo(Duration.ofSeconds(14));
                    assertThat(Contexts.field(transport, "drainTime")).isEqualTo(Duration.ofSeconds(1));
                    assertThat(Contexts.field(Contexts.field(transport, "requests"), "maxBodyBytes"))
                            .isEqualTo(10);
                    assertThat(Contexts.field(Contexts.field(transport, "verdict"), "longestRetryAfter"))
                            .isEqualTo(Duration.ofMinutes(5));
                    assertThat(Contexts.field(Contexts.field(Contexts.field(transport, "verdict"), "breaker"), "wait"))
                            .isEqualTo(Duration.ofSeconds(8));
                    assertThat(Contexts.guarded(context)).hasToString("[partner]");
                });
        endpoint("outbox.http.endpoints[0].breaker.enabled=false")
                .run(context -> assertThat(Contexts.guarded(context)).isEmpty());
    }

    @Test
    void it_can_be_switched_off() {
        endpoint("outbox.http.enabled=false").run(context -> {
            assertThat(context).doesNotHaveBean(HttpEndpoints.class);
            assertThat(context.getBean(OutboxInstance.class).listeners().entries())
                    .isEmpty();
        });
    }

    @Test
    void an_endpoint_of_an_outbox_or_with_a_bundle_that_is_not_there_is_refused() {
        endpoint("outbox.http.endpoints[0].outbox=billing")
                .run(context -> assertThat(context.getStartupFailure()).hasStackTraceContaining("outbox 'billing'"));
        endpoint("outbox.http.endpoints[0].ssl-bundle=mine")
                .run(context -> assertThat(context.getStartupFailure())
                        .hasStackTraceContaining("outbox.http.endpoints[0].ssl-bundle"));
    }

    @Test
    void endpoints_share_no_name() {
        endpoint(
                        "outbox.http.endpoints[1].name=partner",
                        "outbox.http.endpoints[1].type=x",
                        "outbox.http.endpoints[1].url=http://127.0.0.1/")
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("outbox.http.endpoints[1].name"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    name=                        | a text
                    type=                        | types of events
                    aggregate=                   | a text
                    outbox=                      | a text
                    url=                         | http or https
                    url=ftp://t0psecret          | http or https
                    url=ht tp://t0psecret        | not a URI
                    secrets[0]=t0psecret         | whsec_
                    headers.Content-Type=t0psecret | set by the transport
                    ssl-bundle=mine              | SSL bundle
                    connect-time-limit=31s       | between 1ms and 30s
                    request-time-limit=11m       | between 1ms and 10m
                    longest-retry-after=2d       | between 1ms and 1d
                    drain-time=11m               | between 0 and 10m
                    max-in-flight=0              | between 1 and 10000
                    max-body-size=0B             | between 1 and
                    breaker.open-for=0               | between 1ms and 1d
                    """)
    void a_wrong_value_names_the_property_and_what_is_allowed_but_shows_no_secret(String property, String allowed) {
        String key = "outbox.http.endpoints[0]." + property.substring(0, property.indexOf('='));
        endpoint("outbox.http.endpoints[0]." + property).run(context -> {
            assertThat(context.getStartupFailure())
                    .rootCause()
                    .hasMessageContaining("Property " + key + " is")
                    .hasMessageContaining(allowed);
            assertThat(context.getStartupFailure()).hasStackTraceContaining(key);
            for (Throwable cause = context.getStartupFailure(); cause != null; cause = cause.getCause()) {
                assertThat(cause.getMessage()).doesNotContain("t0psecret");
            }
        });
    }

    @Test
    void secrets_are_in_no_text() {
        endpoint(
                        "outbox.http.endpoints[0].secrets=" + SECRET,
                        "outbox.http.endpoints[0].headers.Authorization=t0psecret")
                .run(context -> assertThat(
                                context.getBean(OutboxHttpProperties.class).toString())
                        .doesNotContain("t0psecret", SECRET));
    }
}
