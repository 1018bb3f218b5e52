/** Reads the metrics of a process as Prometheus does, and evaluates alert rules over them. */
@NullMarked
package outbox.testing.metrics;

import org.jspecify.annotations.NullMarked;
