package outbox.dispatch;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** A monotonic clock that a test moves. It starts shortly before its overflow. */
final class SettableNanos implements LongSupplier {

    private final AtomicLong now =
            new AtomicLong(Long.MAX_VALUE - Duration.ofMinutes(1).toNanos());

    void pass(Duration time) {
        now.addAndGet(time.toNanos());
    }

    @Override
    public long getAsLong() {
        return now.get();
    }
}
