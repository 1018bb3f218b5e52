package outbox.opentelemetry;

import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanId;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.TracerProvider;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.data.SpanData;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.EventEnvelope;
import outbox.InvalidEventException;
import outbox.TraceContext;
import outbox.dispatch.EventInterceptor;
import outbox.dispatch.OutboxDispatcher;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/** Follows a trace from the span of a write in one process to the spans of its deliveries in another. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TracingTest {

    private static final String CREATE = "create order.placed";
    private static final String PROCESS = "process order.placed";
    private static final String GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    private final DataSource database = TracedProcess.newDatabase();
    private final TracedProcess writer = new TracedProcess(database);
    private final TracedProcess relay = new TracedProcess(database);
    private final List<EventEnvelope> received = new CopyOnWriteArrayList<>();
    // the current span during each listener call
    private final List<SpanContext> current = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        writer.close();
        relay.close();
    }

    private static EventEnvelope event() {
        return EventEnvelope.ofJson("order.placed", "{\"a\":1}");
    }

    private void receive(EventEnvelope event) {
        current.add(Span.current().getSpanContext());
        received.add(event);
    }

    private SpanData created() {
        return writer.spans(CREATE).get(0);
    }

    private List<SpanData> awaitProcessed(int count) {
        await().until(() -> relay.spans(PROCESS).size() == count);
        return relay.spans(PROCESS);
    }

    private static List<SpanContext> links(SpanData span) {
        return span.getLinks().stream().map(LinkData::getSpanContext).toList();
    }

    private static String traceParent(SpanContext context) {
        return "00-" + context.getTraceId() + "-" + context.getSpanId() + "-"
                + context.getTraceFlags().asHex();
    }

    // ---- writes ----

    @Test
    void a_write_is_a_producer_span_of_the_transaction_and_its_context_is_stored() {
        EventEnvelope event = event();

        Span request = writer.writeInSpan(event);
        relay.deliver(this::receive);

        SpanData span = created();
        assertThat(span.getKind()).isEqualTo(SpanKind.PRODUCER);
        assertThat(span.getParentSpanId()).isEqualTo(request.getSpanContext().getSpanId());
        assertThat(span.getTraceId()).isEqualTo(request.getSpanContext().getTraceId());
        assertThat(span.getStatus().getStatusCode()).isEqualTo(StatusCode.UNSET);
        assertThat(span.getAttributes().asMap())
                .containsOnly(
                        Map.entry(MessagingSpans.SYSTEM, "outbox"),
                        Map.entry(MessagingSpans.OPERATION_NAME, "create"),
                        Map.entry(MessagingSpans.OPERATION_TYPE, "create"),
                        Map.entry(MessagingSpans.DESTINATION, "order.placed"),
                        Map.entry(MessagingSpans.MESSAGE_ID, event.eventId()),
                        Map.entry(MessagingSpans.BODY_SIZE, 7L));
        await().until(() -> !received.isEmpty());
        assertThat(received.get(0).headers())
                .containsOnly(Map.entry("traceparent", traceParent(span.getSpanContext())));
    }

    @Test
    void each_event_of_a_call_has_a_span_of_its_own() {
        writer.writeInSpan(event(), event());

        assertThat(writer.spans(CREATE)).hasSize(2);
    }

    @Test
    void a_context_that_the_event_brings_stays_and_is_what_deliveries_are_linked_to() {
        writer.writeInSpan(EventEnvelope.builder("order.placed")
                .header("traceparent", GIVEN)
                .header("tracestate", "vendor=1")
                .payloadJson("{}")
                .build());
        relay.deliver(this::receive);

        SpanData span = awaitProcessed(1).get(0);
        assertThat(writer.spans(CREATE)).isEmpty();
        assertThat(received.get(0).headers())
                .containsEntry("traceparent", GIVEN)
                .containsEntry("tracestate", "vendor=1");
        assertThat(links(span).get(0).getTraceId()).isEqualTo("0af7651916cd43dd8448eb211c80319c");
        assertThat(links(span).get(0).getTraceState().get("vendor")).isEqualTo("1");
    }

    @Test
    @SuppressWarnings("try") // the scope is all that is wanted
    void the_context_of_the_thread_can_be_stored_by_whoever_writes_without_a_span() {
        SpanContext given = SpanContext.create(
                "0af7651916cd43dd8448eb211c80319c",
                "b7ad6b7169203331",
                TraceFlags.getSampled(),
                TraceState.builder().put("vendor", "1").build());
        assertThat(OutboxTracing.currentContext()).isNull();

        try (var scope = Span.wrap(given).makeCurrent()) {
            assertThat(OutboxTracing.currentContext()).isEqualTo(new TraceContext(GIVEN, "vendor=1"));
        }
    }

    @Test
    void a_write_that_is_refused_is_a_failed_span() {
        EventEnvelope.Builder twice =
                EventEnvelope.builder("order.placed").eventId("same").payloadJson("{}");

        assertThatExceptionOfType(InvalidEventException.class)
                .isThrownBy(() -> writer.write(twice.build(), twice.build()));

        assertThat(writer.spans(CREATE)).hasSize(2).allSatisfy(span -> {
            assertThat(span.getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
            assertThat(span.getAttributes().get(MessagingSpans.ERROR_TYPE))
                    .isEqualTo(InvalidEventException.class.getName());
        });
    }

    @Test
    @SuppressWarnings("try") // the scope is all that is wanted
    void without_an_sdk_the_context_of_the_caller_is_stored_and_nothing_else() {
        Span request = writer.sdk.getTracer("test").spanBuilder("request").startSpan();
        try (var scope = request.makeCurrent()) {
            writer.write(
                    writer.plainWriter().interceptedBy(TracedProcess.without().writes()), event());
        }
        writer.write(writer.plainWriter().interceptedBy(TracedProcess.without().writes()), event());
        relay.deliver(this::receive);

        await().until(() -> received.size() == 2);
        assertThat(received.stream().map(EventEnvelope::headers))
                .containsExactlyInAnyOrder(Map.of("traceparent", traceParent(request.getSpanContext())), Map.of());
    }

    // ---- deliveries ----

    @Test
    void a_delivery_is_a_consumer_span_of_its_own_trace_that_is_linked_to_the_write() {
        writer.writeInSpan(event());
        relay.deliver(this::receive);

        SpanData span = awaitProcessed(1).get(0);
        assertThat(span.getKind()).isEqualTo(SpanKind.CONSUMER);
        assertThat(span.getParentSpanId()).isEqualTo(SpanId.getInvalid());
        assertThat(span.getTraceId()).isNotEqualTo(created().getTraceId());
        assertThat(links(span))
                .extracting(SpanContext::getSpanId)
                .containsExactly(created().getSpanId());
        assertThat(links(span))
                .extracting(SpanContext::getTraceId)
                .containsExactly(created().getTraceId());
        assertThat(span.getStatus().getStatusCode()).isEqualTo(StatusCode.UNSET);
        assertThat(span.getAttributes().asMap())
                .containsOnly(
                        Map.entry(MessagingSpans.SYSTEM, "outbox"),
                        Map.entry(MessagingSpans.OPERATION_NAME, "process"),
                        Map.entry(MessagingSpans.OPERATION_TYPE, "process"),
                        Map.entry(MessagingSpans.DESTINATION, "order.placed"),
                        Map.entry(MessagingSpans.MESSAGE_ID, received.get(0).eventId()),
                        Map.entry(MessagingSpans.BODY_SIZE, 7L),
                        Map.entry(MessagingSpans.ATTEMPT, 1L));
    }

    @Test
    void on_the_hot_path_it_is_the_same() {
        OutboxDispatcher dispatcher = relay.deliver(this::receive);

        relay.write(relay.hotWriter(dispatcher), event());

        SpanData span = awaitProcessed(1).get(0);
        SpanData create = relay.spans(CREATE).get(0);
        assertThat(links(span)).extracting(SpanContext::getSpanId).containsExactly(create.getSpanId());
        assertThat(received.get(0).headers()).containsEntry("traceparent", traceParent(create.getSpanContext()));
    }

    @Test
    void a_delivery_may_continue_the_trace_of_the_write() {
        writer.writeInSpan(event());
        relay.deliver(relay.tracing.continuingTraces(), this::receive, builder -> builder);

        SpanData span = awaitProcessed(1).get(0);
        assertThat(span.getTraceId()).isEqualTo(created().getTraceId());
        assertThat(span.getParentSpanId()).isEqualTo(created().getSpanId());
        assertThat(links(span))
                .extracting(SpanContext::getSpanId)
                .containsExactly(created().getSpanId());
    }

    @Test
    void every_attempt_is_a_span_that_is_linked_to_the_same_write() {
        writer.writeInSpan(event());
        relay.deliver(event -> {
            receive(event);
            if (received.size() < 3) {
                throw new IllegalStateException("not yet");
            }
        });

        List<SpanData> spans = awaitProcessed(3);
        assertThat(spans)
                .extracting(span -> span.getAttributes().get(MessagingSpans.ATTEMPT))
                .containsExactly(1L, 2L, 3L);
        assertThat(spans)
                .allSatisfy(span -> assertThat(links(span))
                        .extracting(SpanContext::getSpanId)
                        .containsExactly(created().getSpanId()));
        assertThat(spans).extracting(SpanData::getTraceId).doesNotHaveDuplicates();
        assertThat(spans)
                .extracting(span -> span.getStatus().getStatusCode())
                .containsExactly(StatusCode.ERROR, StatusCode.ERROR, StatusCode.UNSET);
        assertThat(spans.get(0).getStatus().getDescription()).isEqualTo("not yet");
        assertThat(spans.get(0).getAttributes().get(MessagingSpans.ERROR_TYPE))
                .isEqualTo(IllegalStateException.class.getName());
        assertThat(received)
                .extracting(EventEnvelope::headers)
                .containsOnly(received.get(0).headers());
    }

    @Test
    void an_error_is_named_by_itself_and_not_by_its_wrapping() {
        writer.write(event());
        relay.deliver(
                relay.tracing,
                event -> {
                    throw new StackOverflowError();
                },
                builder -> builder.maxAttempts(1));

        assertThat(awaitProcessed(1).get(0).getAttributes().get(MessagingSpans.ERROR_TYPE))
                .isEqualTo(StackOverflowError.class.getName());
    }

    @Test
    void an_event_that_another_interceptor_refuses_is_a_failed_span() {
        writer.write(event());
        relay.deliver(
                relay.tracing,
                this::receive,
                builder -> builder.maxAttempts(1).interceptor(EventInterceptor.before(event -> {
                    throw new IllegalStateException("refused");
                })));

        assertThat(awaitProcessed(1).get(0).getStatus().getDescription()).isEqualTo("refused");
        assertThat(received).isEmpty();
    }

    @Test
    void headers_that_are_no_context_make_no_link() {
        for (String wrong : List.of("", "x", "00-zz-yy-01", "00-" + "0".repeat(32) + "-" + "0".repeat(16) + "-01")) {
            writer.write(EventEnvelope.builder("order.placed")
                    .header("traceparent", wrong)
                    .payloadJson("{}")
                    .build());
        }
        relay.deliver(relay.tracing.continuingTraces(), this::receive, builder -> builder);

        assertThat(awaitProcessed(4)).allSatisfy(span -> {
            assertThat(span.getLinks()).isEmpty();
            assertThat(span.getParentSpanId()).isEqualTo(SpanId.getInvalid());
        });
    }

    // ---- kinds of listeners ----

    @Test
    void the_span_is_current_while_a_plain_listener_runs() {
        writer.write(event());
        relay.deliver(this::receive);

        SpanData span = awaitProcessed(1).get(0);
        assertThat(current).extracting(SpanContext::getSpanId).containsExactly(span.getSpanId());
    }

    @Test
    void the_span_is_current_while_an_asynchronous_listener_is_called_and_ends_with_its_stage() {
        CompletableFuture<Void> stage = new CompletableFuture<>();
        writer.write(event());
        AsyncEventListener listener = event -> {
            receive(event);
            return stage;
        };
        relay.deliver(relay.tracing, listener, builder -> builder.maxAttempts(1));
        await().until(() -> !received.isEmpty());
        assertThat(relay.spans(PROCESS)).isEmpty();

        stage.completeExceptionally(new IllegalStateException("broker down"));

        SpanData span = awaitProcessed(1).get(0);
        assertThat(current.get(0).getSpanId()).isEqualTo(span.getSpanId());
        assertThat(span.getStatus().getDescription()).isEqualTo("broker down");
    }

    @Test
    void a_call_with_several_events_has_a_span_of_its_own_that_is_linked_to_theirs() {
        CountDownLatch together = new CountDownLatch(1);
        BatchEventListener listener = events -> {
            current.add(Span.current().getSpanContext());
            if (events.get(0).eventType().equals("first")) {
                together.await(); // keeps the only worker busy until the other events are queued
            }
            return events.size() == 3
                    ? BatchEventListener.Outcome.allDelivered()
                            .withFailed(events.get(1), new IllegalStateException("no"))
                    : BatchEventListener.Outcome.allDelivered();
        };
        OutboxDispatcher dispatcher = relay.deliver(relay.tracing, listener, builder -> builder.workerCount(1));
        relay.write(relay.hotWriter(dispatcher), EventEnvelope.ofJson("first", "{}"));
        await().until(() -> current.size() == 1);
        relay.write(relay.hotWriter(dispatcher), event(), event(), event());
        together.countDown();

        awaitProcessed(4); // the failed event is delivered again, alone
        SpanData call = relay.spans("process_batch order.placed").get(0);
        List<SpanData> first = relay.spans(PROCESS).subList(0, 3);
        assertThat(call.getAttributes().get(MessagingSpans.BATCH_SIZE)).isEqualTo(3);
        assertThat(call.getAttributes().get(MessagingSpans.OPERATION_TYPE)).isEqualTo("process");
        assertThat(links(call))
                .extracting(SpanContext::getSpanId)
                .containsExactlyInAnyOrderElementsOf(
                        first.stream().map(SpanData::getSpanId).toList());
        assertThat(current)
                .extracting(SpanContext::getSpanId)
                .startsWith(relay.spans("process first").get(0).getSpanId(), call.getSpanId());
        assertThat(first)
                .extracting(span -> span.getStatus().getStatusCode())
                .containsExactly(StatusCode.UNSET, StatusCode.ERROR, StatusCode.UNSET);
    }

    @Test
    void nothing_is_left_current_on_a_worker() throws InterruptedException {
        CountDownLatch traced = new CountDownLatch(1);
        writer.write(event());
        relay.deliver(
                relay.tracing,
                this::receive,
                builder -> builder.workerCount(1).interceptor(EventInterceptor.after((event, error) -> {
                    current.add(Span.current().getSpanContext());
                    traced.countDown();
                })));

        traced.await();
        assertThat(current).hasSize(2);
        assertThat(current.get(1).isValid()).isFalse();
    }

    @Test
    void what_a_listener_writes_continues_the_trace_of_its_delivery() {
        writer.write(event());
        relay.deliver(event -> {
            receive(event);
            if (received.size() == 1) {
                relay.write(EventEnvelope.ofJson("order.shipped", "{}"));
            }
        });

        SpanData process = awaitProcessed(1).get(0);
        SpanData next = relay.spans("create order.shipped").get(0);
        assertThat(next.getTraceId()).isEqualTo(process.getTraceId());
        assertThat(next.getParentSpanId()).isEqualTo(process.getSpanId());
        await().until(() -> !relay.spans("process order.shipped").isEmpty());
        assertThat(links(relay.spans("process order.shipped").get(0)))
                .extracting(SpanContext::getSpanId)
                .containsExactly(next.getSpanId());
    }

    @Test
    void a_tracer_that_fails_harms_neither_writes_nor_deliveries() {
        OutboxTracing broken = OutboxTracing.of(new OpenTelemetry() {
            @Override
            public TracerProvider getTracerProvider() {
                return TracerProvider.noop();
            }

            @Override
            public Tracer getTracer(String scope) {
                return name -> {
                    throw new NoSuchMethodError("of another version");
                };
            }

            @Override
            public ContextPropagators getPropagators() {
                return ContextPropagators.noop();
            }
        });
        EventEnvelope event = event();

        writer.write(writer.plainWriter().interceptedBy(broken.writes()), event);
        relay.deliver(broken, this::receive, builder -> builder.maxAttempts(1));

        await().until(() -> received.size() == 1);
        assertThat(received.get(0).headers()).isEmpty();
    }
}
