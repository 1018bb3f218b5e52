/** A relay: poller, dispatcher and purge of one table as one unit, its contract with what it delivers to, and an event bus in the same process. */
@NullMarked
package outbox.relay;

import org.jspecify.annotations.NullMarked;
