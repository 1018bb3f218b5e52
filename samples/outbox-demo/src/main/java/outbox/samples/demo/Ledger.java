package outbox.samples.demo;

import outbox.EventEnvelope;
import outbox.spi.MetricsExporter;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Records what the customers and the warehouse observed for each order. At the end of the run, it is compared with
 * the database.
 *
 * <p>Thread-safe: customers record commits and rollbacks, workers of the outbox record deliveries, the screen reads.
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

    /** Starts the latency measurement of the order, just before the commit. */
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

    /** Ends the latency measurement at the first attempt. The backoff of a retry is not part of the latency. */
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

    /** Returns the exporter to which the outbox reports failed attempts and dead events. */
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

    /** Returns the number of deliveries of orders that were never committed. It must be 0. */
    long deliveriesOfRolledBackOrders() {
        return deliveries.keySet().stream()
                .filter(number -> !committed.contains(number))
                .count();
    }

    /**
     * Returns the number of repeated deliveries. The outbox delivers at least once; without a crash this
     * should be 0.
     */
    long duplicates() {
        return deliveries.values().stream().mapToLong(count -> count - 1).sum();
    }

    /** A snapshot of the ledger. */
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
