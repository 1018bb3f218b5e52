/** Idempotent consumption: each event takes effect once, even if it is delivered several times. */
@NullMarked
package outbox.inbox;

import org.jspecify.annotations.NullMarked;
