/** The locks that decide which node leads a table. */
@NullMarked
package outbox.jdbc.internal.leader;

import org.jspecify.annotations.NullMarked;
