package outbox.spring.boot.monitoring;

import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.Span;
import io.micrometer.tracing.Tracer;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration;
import org.springframework.boot.micrometer.tracing.autoconfigure.MicrometerTracingAutoConfiguration;
import org.springframework.boot.micrometer.tracing.opentelemetry.autoconfigure.OpenTelemetryTracingAutoConfiguration;
import org.springframework.boot.opentelemetry.autoconfigure.OpenTelemetrySdkAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import outbox.EventEnvelope;
import outbox.spring.ListenerSource;
import outbox.spring.boot.Applications;

import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;

@NullUnmarked
class OutboxTracingTest {

    /** The context in which a listener ran. */
    private record Heard(EventEnvelope event, Map<String, String> mdc, String span) {}

    private final BlockingQueue<Heard> heard = new LinkedBlockingQueue<>();

    private ApplicationContextRunner listening(Class<?>... more) {
        return Applications.with(OutboxTracingAutoConfiguration.class, OutboxLoggingAutoConfiguration.class)
                .withConfiguration(AutoConfigurations.of(more))
                .withBean(
                        ListenerSource.class,
                        () -> Applications.listening(event -> heard.add(new Heard(
                                event,
                                Objects.requireNonNullElse(MDC.getCopyOfContextMap(), Map.of()),
                                io.opentelemetry.api.trace.Span.current()
                                        .getSpanContext()
                                        .getTraceId()))));
    }

    private ApplicationContextRunner traced() {
        return listening(
                        ObservationAutoConfiguration.class,
                        OpenTelemetrySdkAutoConfiguration.class,
                        OpenTelemetryTracingAutoConfiguration.class,
                        MicrometerTracingAutoConfiguration.class)
                .withPropertyValues("management.tracing.sampling.probability=1");
    }

    private Heard next() throws InterruptedException {
        return Objects.requireNonNull(heard.poll(10, TimeUnit.SECONDS));
    }

    private static String writeInSpan(ApplicationContext context, String type) {
        Tracer tracer = context.getBean(Tracer.class);
        Span span = tracer.nextSpan().name("request").start();
        try (Tracer.SpanInScope scope = tracer.withSpan(span)) {
            assertThat(scope).isNotNull();
            Applications.write(context, type);
        } finally {
            span.end();
        }
        return span.context().traceId();
    }

    @Test
    void a_listener_continues_the_trace_of_the_write_and_logs_which_event_it_has() {
        traced().run(context -> {
            String trace = writeInSpan(context, "order.placed");

            Heard listener = next();
            assertThat(listener.mdc())
                    .containsEntry("outbox.event.id", listener.event().eventId())
                    .containsEntry("outbox.event.type", "order.placed");
            assertThat(listener.event().headers()).containsKey("traceparent");
            assertThat(listener.span()).isEqualTo(trace);
        });
    }

    @Test
    void deliveries_may_have_traces_of_their_own() {
        traced().withPropertyValues("outbox.tracing.continue-traces=false").run(context -> {
            String trace = writeInSpan(context, "order.placed");

            assertThat(next().span()).isNotEqualTo(trace).matches("0*[1-9a-f][0-9a-f]*");
        });
    }

    @Test
    void it_can_be_switched_off() {
        traced().withPropertyValues("outbox.tracing.enabled=false", "outbox.logging.mdc=false")
                .run(context -> {
                    writeInSpan(context, "order.placed");

                    Heard listener = next();
                    assertThat(listener.event().headers()).isEmpty();
                    assertThat(listener.mdc()).doesNotContainKey("outbox.event.id");
                });
    }

    @Test
    void open_telemetry_alone_is_enough() {
        OpenTelemetry sdk = OpenTelemetrySdk.builder()
                .setTracerProvider(SdkTracerProvider.builder().build())
                .build();
        listening().withBean(OpenTelemetry.class, () -> sdk).run(context -> {
            Applications.write(context, "order.placed");

            Heard listener = next();
            assertThat(listener.event().headers().get("traceparent")).contains(listener.span());
        });
    }

    @Test
    void observations_without_a_tracer_do_not_keep_open_telemetry_from_tracing() {
        OpenTelemetry sdk = OpenTelemetrySdk.builder()
                .setTracerProvider(SdkTracerProvider.builder().build())
                .build();
        listening()
                .withBean(OpenTelemetry.class, () -> sdk)
                .withBean(ObservationRegistry.class, ObservationRegistry::create)
                .run(context -> {
                    assertThat(context).hasSingleBean(TracingCustomizer.class);
                    Applications.write(context, "order.placed");

                    assertThat(next().event().headers()).containsKey("traceparent");
                });
    }

    @Test
    void without_any_of_them_nothing_is_traced() {
        listening().run(context -> {
            assertThat(context).doesNotHaveBean(TracingCustomizer.class);
            Applications.write(context, "order.placed");

            assertThat(next().event().headers()).isEmpty();
        });
    }
}
