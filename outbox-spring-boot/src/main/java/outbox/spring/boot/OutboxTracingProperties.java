package outbox.spring.boot;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Traces of events.
 *
 * @param enabled whether writes and deliveries are observed, and traced if the application has a tracer
 * @param continueTraces whether a delivery continues the trace of its write; otherwise it begins one of its own
 */
@ConfigurationProperties("outbox.tracing")
record OutboxTracingProperties(
        @DefaultValue("true") boolean enabled,
        @DefaultValue("true") boolean continueTraces) {}
