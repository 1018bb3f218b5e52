package outbox.benchmarks;

import java.util.concurrent.atomic.AtomicLong;

/** A row of raw JDBC: its id, which is generated here in time order, its aggregate and its payload. */
record LimitRow(String id, String aggregateId, String payload) {
    private static final AtomicLong LAST = new AtomicLong(System.currentTimeMillis() * 1_000_000);

    static LimitRow of(Event event) {
        // 26 characters, like a ULID
        return new LimitRow("1000000" + LAST.incrementAndGet(), event.aggregateId(), event.payload());
    }
}
