package outbox.benchmarks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * Events per second from the first write until the last event is done in the database.
 *
 * @param backlog whether all events are written before the delivery starts; otherwise they are written while it runs
 * @param cap the time limit; if it passes, the rate is computed from the events that are done by then
 */
record EndToEnd(String id, String title, Plan plan, boolean backlog, Duration cap, List<String> contenders)
        implements Workload {

    @Override
    public Measured run(BenchServer server, Contender contender, int round) throws Exception {
        try (Trial trial = new Trial(server, contender, plan)) {
            if (backlog) {
                trial.writeBacklog();
            }
            trial.createNodes(UnaryOperator.identity());
            trial.begin();
            long began = System.nanoTime();
            trial.startNodes();
            if (!backlog) {
                began = Writers.run(plan, (writer, event) -> trial.node(writer).write(event));
            }
            boolean complete = trial.awaitDone(began + cap.toNanos());
            double seconds = (System.nanoTime() - began) / 1e9;
            long done = plan.events() - (complete ? plan.hopeless() : trial.pending());
            ServerCounters work = trial.end();
            return new Measured(
                    id,
                    contender.name(),
                    round,
                    Map.of(
                            Metric.RATE, done / seconds,
                            Metric.COMMITS, (double) work.commits() / done,
                            Metric.STATEMENTS, (double) work.statements() / done,
                            Metric.LOG_BYTES, (double) work.logBytes() / done,
                            Metric.DUPLICATES, (double) trial.ledger().duplicates(),
                            Metric.OUT_OF_ORDER, (double) trial.ledger().outOfOrder()),
                    complete ? "" : "capped: %,d of %,d done after %.0f s".formatted(done, plan.events(), seconds));
        }
    }
}
