/** The loop that claims due events and hands them to a handler. */
@NullMarked
package outbox.poller;

import org.jspecify.annotations.NullMarked;
