/** The memory of a consumer: each event takes effect once, however often it comes. */
@NullMarked
package outbox.inbox;

import org.jspecify.annotations.NullMarked;
