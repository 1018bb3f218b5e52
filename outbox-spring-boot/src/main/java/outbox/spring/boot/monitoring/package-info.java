/** Auto-configuration of metrics, tracing and log fields. */
@NullMarked
package outbox.spring.boot.monitoring;

import org.jspecify.annotations.NullMarked;
