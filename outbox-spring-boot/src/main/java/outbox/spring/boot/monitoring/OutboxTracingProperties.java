package outbox.spring.boot.monitoring;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of tracing.
 *
 * @param enabled whether writes and deliveries are observed, and traced if the application has a tracer
 * @param continueTraces whether a delivery continues the trace of its write; otherwise it begins a new trace
 */
@ConfigurationProperties("outbox.tracing")
record OutboxTracingProperties(
        @DefaultValue("true") boolean enabled,
        @DefaultValue("true") boolean continueTraces) {}
