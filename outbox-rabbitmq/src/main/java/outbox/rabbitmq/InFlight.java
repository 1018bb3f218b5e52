package outbox.rabbitmq;

import java.time.Duration;
import java.util.concurrent.Phaser;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The messages that have arrived and are not over. Any thread. */
final class InFlight {

    private final Phaser messages = new Phaser(1); // one party is the consumer itself

    void begin() {
        messages.register();
    }

    void end() {
        messages.arriveAndDeregister();
    }

    int count() {
        return messages.getRegisteredParties() - 1;
    }

    /** Waits until all are over; false if they are not in time. Called once, when no more arrive. */
    boolean awaitNone(Duration limit) throws InterruptedException {
        try {
            messages.awaitAdvanceInterruptibly(messages.arrive(), limit.toNanos(), TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        }
    }
}
