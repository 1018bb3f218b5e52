package outbox.benchmarks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * Plain events per second from the first write until the last one is done, while the same writers also write other
 * events, which use delivery control.
 *
 * @param every a writer writes one other event after this number of plain events
 */
record Beside(String id, String title, Plan plan, int every, Duration cap, List<String> contenders)
        implements Workload {

    private static final Duration REST_CAP = Duration.ofSeconds(20);

    Beside {
        if (plan.events() % (Plan.WRITERS * every) != 0) {
            throw new IllegalArgumentException("Writers do not divide evenly: " + plan.events() + ", " + every);
        }
    }

    @Override
    public Measured run(BenchServer server, Contender contender, int round) throws Exception {
        int others = plan.events() / every;
        Destination destination = new Destination(plan.events(), others, Duration.ZERO);
        try (Trial trial = new Trial(server, contender, plan, destination)) {
            trial.createNodes(UnaryOperator.identity());
            trial.begin();
            trial.startNodes();
            long began = Writers.run(plan, (writer, event) -> {
                trial.node(writer).write(event);
                if (isFollowed(event)) {
                    Event other = plan.event(plan.events() + place(event) / every * Plan.WRITERS + writer);
                    Writers.withRetry(() -> trial.node(writer).writeInvoices(List.of(other)));
                }
            });
            boolean complete = trial.awaitDone(began + cap.toNanos());
            double seconds = (System.nanoTime() - began) / 1e9;
            long done = plan.events() - (complete ? 0 : trial.pending());
            // other events that are done at the same time; some are not due yet
            long all = done + trial.count(Invoices.DONE);
            boolean restComplete = destination.awaitAll(REST_CAP)
                    && trial.awaitCount(Invoices.DONE, others, System.nanoTime() + REST_CAP.toNanos());
            ServerCounters work = trial.end();
            double events = done + destination.delivered();
            return new Measured(
                    id,
                    contender.name(),
                    round,
                    Map.of(
                            Metric.RATE, done / seconds,
                            Metric.ALL_RATE, all / seconds,
                            Metric.COMMITS, work.commits() / events,
                            Metric.STATEMENTS, work.statements() / events,
                            Metric.LOG_BYTES, work.logBytes() / events,
                            Metric.DUPLICATES, (double) trial.ledger().duplicates() + destination.duplicates(),
                            Metric.OUT_OF_ORDER, (double) trial.ledger().outOfOrder()),
                    complete && restComplete
                            ? ""
                            : "capped: %,d of %,d plain events and %,d of %,d others delivered"
                                    .formatted(trial.ledger().seen(), plan.events(), destination.delivered(), others));
        }
    }

    /** Returns the position of the event among the events of its writer. */
    private static int place(Event event) {
        return event.number() / Plan.WRITERS;
    }

    private boolean isFollowed(Event event) {
        int writer = event.number() % Plan.WRITERS;
        // staggered, so that the writers do not do it at the same time
        return place(event) % every == writer * every / Plan.WRITERS;
    }
}
