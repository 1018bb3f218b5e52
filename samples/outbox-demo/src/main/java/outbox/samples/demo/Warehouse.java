package outbox.samples.demo;

import outbox.EventEnvelope;
import outbox.EventListener;

import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/** Ships orders through a carrier that sometimes does not respond. */
final class Warehouse implements EventListener {

    private static final long TIME_TO_SHIP_NANOS = Duration.ofMillis(2).toNanos();

    private final Ledger ledger;

    Warehouse(Ledger ledger) {
        this.ledger = ledger;
    }

    @Override
    public void onEvent(EventEnvelope event) throws IOException {
        ledger.attempted(event);
        ship(event);
        ledger.delivered(event);
    }

    private static void ship(EventEnvelope event) throws IOException {
        if (Objects.equals(event.headers().get("country"), Order.ATLANTIS)) {
            throw new IOException("No carrier delivers to " + Order.ATLANTIS);
        }
        if (ThreadLocalRandom.current().nextInt(20) == 0) {
            throw new IOException("The carrier does not answer");
        }
        LockSupport.parkNanos(TIME_TO_SHIP_NANOS);
    }
}
