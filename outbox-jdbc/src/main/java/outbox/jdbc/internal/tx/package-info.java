/** The state of one transaction. */
@NullMarked
package outbox.jdbc.internal.tx;

import org.jspecify.annotations.NullMarked;
