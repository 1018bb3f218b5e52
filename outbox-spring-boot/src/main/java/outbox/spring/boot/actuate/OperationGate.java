package outbox.spring.boot.actuate;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Limits the endpoint to {@value #PLACES} database operations at a time, so that it never holds more connections of
 * the application's pool. Further operations wait for a limited time and are then refused.
 */
final class OperationGate {

    static final int PLACES = 2;

    private final Semaphore free = new Semaphore(PLACES, true);

    <T> T run(Duration patience, Supplier<T> operation) {
        if (!enter(patience)) {
            throw new RefusedOperationException(
                    RefusedOperationException.TOO_MANY_REQUESTS,
                    PLACES
                            + " operations of the outbox endpoint are running, and more are not let in. Ask"
                            + " again later");
        }
        try {
            return operation.get();
        } finally {
            free.release();
        }
    }

    private boolean enter(Duration patience) {
        try {
            return free.tryAcquire(patience.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
