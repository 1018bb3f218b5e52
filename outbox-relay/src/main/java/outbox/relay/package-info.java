/**
 * A relay, which combines poller, dispatcher and purge for one table; the interface of its destination; and an event
 * bus within one process.
 */
@NullMarked
package outbox.relay;

import org.jspecify.annotations.NullMarked;
