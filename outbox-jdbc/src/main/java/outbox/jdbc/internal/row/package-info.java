/** Reads events from the rows of a table. */
@NullMarked
package outbox.jdbc.internal.row;

import org.jspecify.annotations.NullMarked;
