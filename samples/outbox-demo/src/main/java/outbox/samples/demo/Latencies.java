package outbox.samples.demo;

import java.util.Locale;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts times in buckets, sixteen for each doubling, so that the error of a percentile is at most about
 * 6 %. Thread-safe.
 */
final class Latencies {

    private static final int BITS = 4;
    private static final int PER_DOUBLING = 1 << BITS;

    private final AtomicLongArray buckets = new AtomicLongArray(64 * PER_DOUBLING);

    void record(long nanos) {
        buckets.incrementAndGet(bucketOf(Math.max(PER_DOUBLING, nanos)));
    }

    Summary summary() {
        return new Summary(percentile(0.50), percentile(0.99));
    }

    private double percentile(double share) {
        long total = 0;
        for (int i = 0; i < buckets.length(); i++) {
            total += buckets.get(i);
        }
        long seen = 0;
        for (int i = 0; i < buckets.length(); i++) {
            seen += buckets.get(i);
            if (seen > 0 && seen >= total * share) {
                return upperBoundOf(i) / 1e6;
            }
        }
        return 0;
    }

    private static int bucketOf(long nanos) {
        int doublings = 63 - Long.numberOfLeadingZeros(nanos);
        int within = (int) (nanos >>> (doublings - BITS)) - PER_DOUBLING;
        return doublings * PER_DOUBLING + within;
    }

    private static double upperBoundOf(int bucket) {
        int doublings = bucket / PER_DOUBLING;
        int within = bucket % PER_DOUBLING;
        return Math.scalb(1.0 + (within + 1.0) / PER_DOUBLING, doublings);
    }

    /** Percentiles in milliseconds. */
    record Summary(double p50, double p99) {

        @Override
        public String toString() {
            return String.format(Locale.ROOT, "p50 %.2f ms, p99 %.2f ms", p50, p99);
        }
    }
}
