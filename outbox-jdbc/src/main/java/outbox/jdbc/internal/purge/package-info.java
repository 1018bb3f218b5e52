/** Finds the events that a purge may delete. */
@NullMarked
package outbox.jdbc.internal.purge;

import org.jspecify.annotations.NullMarked;
