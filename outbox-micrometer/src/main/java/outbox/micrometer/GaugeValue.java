package outbox.micrometer;

/** The last value that the engine reported; NaN before the first one. */
final class GaugeValue {

    private volatile double value = Double.NaN; // engine threads write, scrapes read

    void set(double newer) {
        value = newer;
    }

    double get() {
        return value;
    }
}
