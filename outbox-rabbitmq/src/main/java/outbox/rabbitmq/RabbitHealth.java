package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;

import java.time.Duration;

/**
 * How a transport is, at this moment.
 *
 * @param connected whether there is a connection, be it blocked
 * @param blocked why the broker blocks the connection, such as by a memory alarm; null if it does not, as far as it has said: it tells a connection that publishes
 * @param inFlight how many events wait for the broker's word, those included that wait for a connection
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
