/** Meters of an outbox table for Micrometer. */
@NullMarked
package outbox.micrometer;

import org.jspecify.annotations.NullMarked;
