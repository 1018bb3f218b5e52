package outbox.spring.boot.monitoring;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the log lines of listeners.
 *
 * @param mdc whether the SLF4J MDC contains outbox.event.id and outbox.event.type while a listener runs, and more
 *     fields of the event when the library logs a failed attempt
 */
@ConfigurationProperties("outbox.logging")
record OutboxLoggingProperties(@DefaultValue("true") boolean mdc) {}
