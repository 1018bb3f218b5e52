package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;

import java.time.Duration;

/**
 * The current state of a transport.
 *
 * @param connected whether a connection is open, blocked or not
 * @param blocked why the broker blocks the connection, such as a memory alarm; null if it is not known to be blocked.
 *     The broker tells only connections that publish
 * @param inFlight the number of events that wait for a confirm or for a connection
 * @param oldest how long the oldest of them has waited; zero if there is none
 * @param trouble why there is no connection; null if there is one
 */
public record RabbitHealth(
        boolean connected,
        @Nullable String blocked,
        int inFlight,
        Duration oldest,
        @Nullable String trouble) {

    /** Whether events can be published now. */
    public boolean isUp() {
        return connected && blocked == null;
    }
}
