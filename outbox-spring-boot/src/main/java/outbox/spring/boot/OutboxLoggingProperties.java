package outbox.spring.boot;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What log lines of listeners tell.
 *
 * @param mdc whether the MDC of SLF4J has outbox.event.id and outbox.event.type while a listener runs, and more about
 *     the event in lines of the library about a failed attempt
 */
@ConfigurationProperties("outbox.logging")
record OutboxLoggingProperties(@DefaultValue("true") boolean mdc) {}
