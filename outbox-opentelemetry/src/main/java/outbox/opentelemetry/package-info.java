/** Spans and trace context of OpenTelemetry around writes and deliveries. */
@NullMarked
package outbox.opentelemetry;

import org.jspecify.annotations.NullMarked;
