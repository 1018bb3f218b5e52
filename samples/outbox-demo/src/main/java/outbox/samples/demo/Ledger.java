package outbox.samples.demo;

import outbox.EventEnvelope;
import outbox.spi.MetricsExporter;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * What the customers and the warehouse saw with their own eyes, order by order: at the end it is held against the database.
 *
 * <p>Thread-safe: customers note commits and rollbacks, workers of the outbox note deliveries, the screen reads.
 */
final class Ledger {

    private final Set<Long> committed = ConcurrentHashMap.newKeySet();
    private final Map<Long, Integer> deliveries = new ConcurrentHashMap<>();
    private final Map<Long, Long> commitNanos = new ConcurrentHashMap<>(); // until the first attempt
    private final Set<Long> cold = ConcurrentHashMap.newKeySet(); // until the delivery
    private final LongAdder rolledBack = new LongAdder();
    private final LongAdder rolledBackToSavepoint = new LongAdder();
    private final LongAdder deliveredHot = new LongAdder();
    private final LongAdder deliveredCold = new LongAdder();
    private final Latencies hotLatencies = new Latencies();
    private final Latencies coldLatencies = new Latencies();
    private final OutcomeCounts outcomes = new OutcomeCounts();

    /** The clock of the delivery starts here, just before the commit. */
    void committing(Order order) {
        commitNanos.put(order.number(), System.nanoTime());
    }

    void committed(Order order) {
        committed.add(order.number());
    }

    void rolledBack(Order order) {
        commitNanos.remove(order.number());
        rolledBack.increment();
    }

    void rolledBackToSavepoint(Order order) {
        commitNanos.remove(order.number());
        rolledBackToSavepoint.increment();
    }

    void polled(EventEnvelope event) {
        cold.add(Order.numberOf(event));
    }

    /** The clock of the delivery stops at the first attempt: how long a retry waits is a matter of its backoff. */
    void attempted(EventEnvelope event) {
        long now = System.nanoTime();
        long number = Order.numberOf(event);
        Long start = commitNanos.remove(number);
        if (start != null) {
            (cold.contains(number) ? coldLatencies : hotLatencies).record(now - start);
        }
    }

    void delivered(EventEnvelope event) {
        long number = Order.numberOf(event);
        deliveries.merge(number, 1, Integer::sum);
        (cold.remove(number) ? deliveredCold : deliveredHot).increment();
    }

    /** Where the outbox reports failed attempts and dead events. */
    MetricsExporter metrics() {
        return outcomes;
    }

    Totals totals() {
        return new Totals(
                committed.size(),
                rolledBack.sum(),
                rolledBackToSavepoint.sum(),
                deliveredHot.sum(),
                deliveredCold.sum(),
                outcomes.overflowed(),
                outcomes.retried(),
                outcomes.dead(),
                hotLatencies.summary(),
                coldLatencies.summary());
    }

    long deliveredOrders() {
        return deliveries.size();
    }

    /** Deliveries of orders that were never committed: there must be none. */
    long deliveriesOfRolledBackOrders() {
        return deliveries.keySet().stream()
                .filter(number -> !committed.contains(number))
                .count();
    }

    /** Deliveries beyond the first of an order. At least once is what is promised; without a crash there should be none. */
    long duplicates() {
        return deliveries.values().stream().mapToLong(count -> count - 1).sum();
    }

    /** The state of the ledger at one moment. */
    record Totals(
            long committed,
            long rolledBack,
            long rolledBackToSavepoint,
            long deliveredHot,
            long deliveredCold,
            long overflowed,
            long retried,
            long dead,
            Latencies.Summary hot,
            Latencies.Summary cold) {}
}
