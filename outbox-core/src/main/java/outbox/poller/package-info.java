/** The loop that claims due events and hands them over. */
@NullMarked
package outbox.poller;

import org.jspecify.annotations.NullMarked;
