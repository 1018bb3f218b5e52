package outbox.benchmarks;

import java.util.Optional;

/**
 * The load of a measurement.
 *
 * @param aggregates how many aggregates the events are spread over; a multiple of the number of writers, so that one
 *     thread writes all events of an aggregate
 * @param nodes how many nodes share the tables, the writers and the connections
 * @param ordered whether the events of an aggregate must be delivered in order
 * @param history how many done events exist before
 * @param sleepMillis how long a listener takes
 * @param failing whether the listener fails for one of the aggregates
 * @param workers how many listeners must run at the same time; empty for the contender's own setting
 */
record Plan(
        int events,
        int aggregates,
        int nodes,
        boolean ordered,
        int history,
        long sleepMillis,
        boolean failing,
        Optional<Integer> workers) {

    static final int WRITERS = 8;
    static final int CONNECTIONS = 20;

    Plan {
        if (aggregates % WRITERS != 0 || WRITERS % nodes != 0) {
            throw new IllegalArgumentException("Writers do not divide evenly: " + aggregates + ", " + nodes);
        }
    }

    static Plan of(int events, int aggregates) {
        return new Plan(events, aggregates, 1, false, 0, 0, false, Optional.empty());
    }

    Plan withNodes(int count) {
        return new Plan(events, aggregates, count, ordered, history, sleepMillis, failing, workers);
    }

    Plan inOrder() {
        return new Plan(events, aggregates, nodes, true, history, sleepMillis, failing, workers);
    }

    Plan withHistory(int rows) {
        return new Plan(events, aggregates, nodes, ordered, rows, sleepMillis, failing, workers);
    }

    Plan withSlowListeners(long millis, int count) {
        return new Plan(events, aggregates, nodes, ordered, history, millis, failing, Optional.of(count));
    }

    Plan withFailingAggregate() {
        return new Plan(events, aggregates, nodes, ordered, history, sleepMillis, true, workers);
    }

    /** Returns how many events can never be done. */
    int hopeless() {
        return failing ? events / aggregates : 0;
    }

    Ledger ledger() {
        return new Ledger(events, aggregates, sleepMillis, failing ? 0 : -1);
    }

    Event event(int number) {
        return Event.of(number, aggregates);
    }
}
