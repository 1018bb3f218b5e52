package outbox.spring.boot.monitoring;

import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.ObservationRegistry;
import io.opentelemetry.api.OpenTelemetry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import outbox.micrometer.OutboxDeliveryContext;
import outbox.micrometer.OutboxObservations;
import outbox.micrometer.OutboxWriteContext;
import outbox.opentelemetry.OutboxTracing;
import outbox.spring.boot.OutboxCustomizer;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.autoconfigure.OutboxAutoConfiguration;
import outbox.spring.boot.internal.ConditionalOnOutbox;

/**
 * Traces events with the tracing library of the application: with Micrometer observations, or with OpenTelemetry
 * directly if there is no Micrometer tracer. It never uses both, because each event would then have two spans.
 */
@AutoConfiguration(
        after = OutboxAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.actuate.autoconfigure.observation.ObservationAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.opentelemetry.OpenTelemetryAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.tracing.BraveAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.tracing.MicrometerTracingAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.tracing.NoopTracerAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.tracing.OpenTelemetryTracingAutoConfiguration",
            "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration",
            "org.springframework.boot.micrometer.tracing.autoconfigure.MicrometerTracingAutoConfiguration",
            "org.springframework.boot.micrometer.tracing.autoconfigure.NoopTracerAutoConfiguration",
            "org.springframework.boot.micrometer.tracing.brave.autoconfigure.BraveAutoConfiguration",
            "org.springframework.boot.micrometer.tracing.opentelemetry.autoconfigure.OpenTelemetryTracingAutoConfiguration",
            "org.springframework.boot.opentelemetry.autoconfigure.OpenTelemetrySdkAutoConfiguration"
        })
@ConditionalOnOutbox
@ConditionalOnBean(OutboxInstance.class)
@ConditionalOnBooleanProperty(name = "outbox.tracing.enabled", matchIfMissing = true)
@EnableConfigurationProperties(OutboxTracingProperties.class)
class OutboxTracingAutoConfiguration {

    static final String CUSTOMIZER = "outboxTracingCustomizer";
    static final int TRACING_ORDER =
            Ordered.HIGHEST_PRECEDENCE + 100; // outermost, so that the span records refusals of other interceptors

    /** Active if there is OpenTelemetry and no Micrometer tracer, which would create the same spans. */
    @Configuration(proxyBeanMethods = false)
    @Order(1)
    @ConditionalOnClass({OpenTelemetry.class, OutboxTracing.class})
    @ConditionalOnBean(OpenTelemetry.class)
    @ConditionalOnMissingBean(type = "io.micrometer.tracing.Tracer")
    static class Traced {

        @Bean(CUSTOMIZER)
        @Order(TRACING_ORDER)
        @ConditionalOnMissingBean(name = CUSTOMIZER)
        OutboxCustomizer outboxTracingCustomizer(OpenTelemetry openTelemetry, OutboxTracingProperties properties) {
            OutboxTracing plain = OutboxTracing.of(openTelemetry);
            OutboxTracing tracing = properties.continueTraces() ? plain.continuingTraces() : plain;
            return new TracingCustomizer(outbox -> tracing.writes(), outbox -> tracing.deliveries());
        }
    }

    @Configuration(proxyBeanMethods = false)
    @Order(2)
    @ConditionalOnClass({ObservationRegistry.class, OutboxObservations.class})
    @ConditionalOnBean(ObservationRegistry.class)
    static class Observed {

        @Bean(CUSTOMIZER)
        @Order(TRACING_ORDER)
        @ConditionalOnMissingBean(name = CUSTOMIZER)
        OutboxCustomizer outboxTracingCustomizer(
                ObservationRegistry registry,
                OutboxTracingProperties properties,
                ObjectProvider<ObservationConvention<OutboxWriteContext>> writes,
                ObjectProvider<ObservationConvention<OutboxDeliveryContext>> deliveries) {
            return new TracingCustomizer(
                    outbox -> observations(outbox, registry, properties, writes, deliveries)
                            .writes(),
                    outbox -> observations(outbox, registry, properties, writes, deliveries)
                            .deliveries());
        }

        private static OutboxObservations observations(
                String outbox,
                ObservationRegistry registry,
                OutboxTracingProperties properties,
                ObjectProvider<ObservationConvention<OutboxWriteContext>> writes,
                ObjectProvider<ObservationConvention<OutboxDeliveryContext>> deliveries) {
            OutboxObservations observations = OutboxObservations.of(registry, outbox);
            if (!properties.continueTraces()) {
                observations = observations.withNewTraces();
            }
            ObservationConvention<OutboxWriteContext> namesOfWrites = writes.getIfUnique();
            if (namesOfWrites != null) {
                observations = observations.namingWrites(namesOfWrites);
            }
            ObservationConvention<OutboxDeliveryContext> namesOfDeliveries = deliveries.getIfUnique();
            return namesOfDeliveries == null ? observations : observations.namingDeliveries(namesOfDeliveries);
        }
    }
}
