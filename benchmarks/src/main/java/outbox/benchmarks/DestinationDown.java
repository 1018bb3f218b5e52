package outbox.benchmarks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * Plain events per second while the destination of other events is down and a number of those events wait for it.
 * Then the destination comes back.
 *
 * @param waiting how many events wait
 */
record DestinationDown(String id, String title, Plan plan, int waiting, Duration cap, List<String> contenders)
        implements Workload {

    private static final Duration TAKES = Duration.ofMillis(20); // long enough that calls overlap
    private static final Duration SOON = Duration.ofSeconds(30);
    private static final int PROBES = 10; // maximum number of concurrent probes while the destination is down

    @Override
    public Measured run(BenchServer server, Contender contender, int round) throws Exception {
        Destination destination = new Destination(plan.events(), waiting, TAKES);
        destination.goDown();
        try (Trial trial = new Trial(server, contender, plan, destination)) {
            trial.writeInvoices(waiting);
            trial.createNodes(UnaryOperator.identity());
            trial.begin();
            trial.startNodes();
            Pause.until(() -> destination.refused() > 0, SOON); // the refused call opens the breaker
            if (!trial.awaitCount(Invoices.FREE, waiting - PROBES, System.nanoTime() + SOON.toNanos())) {
                throw new IllegalStateException("What was claimed before was not given back within " + SOON);
            }
            long began = Writers.run(plan, (writer, event) -> trial.node(writer).write(event));
            boolean complete = trial.awaitDone(began + cap.toNanos());
            double seconds = (System.nanoTime() - began) / 1e9;
            long done = plan.events() - (complete ? 0 : trial.pending());
            int refused = destination.refused();
            // so that it comes back just after a failed probe
            Pause.until(() -> destination.refused() > refused, SOON);
            long changed = waiting - trial.count(Invoices.UNTOUCHED);

            long back = System.nanoTime();
            destination.comeBack();
            boolean recovered = destination.awaitAll(SOON)
                    && trial.awaitCount(Invoices.DONE, waiting, System.nanoTime() + SOON.toNanos());
            long dead = trial.count(Invoices.DEAD);
            ServerCounters work = trial.end();
            double events = done + destination.delivered();
            return new Measured(
                    id,
                    contender.name(),
                    round,
                    Map.ofEntries(
                            Map.entry(Metric.RATE, done / seconds),
                            Map.entry(Metric.COMMITS, work.commits() / events),
                            Map.entry(Metric.STATEMENTS, work.statements() / events),
                            Map.entry(Metric.LOG_BYTES, work.logBytes() / events),
                            Map.entry(
                                    Metric.DUPLICATES, (double) trial.ledger().duplicates() + destination.duplicates()),
                            Map.entry(
                                    Metric.OUT_OF_ORDER, (double) trial.ledger().outOfOrder()),
                            Map.entry(Metric.HARMED, (double) changed + dead),
                            Map.entry(Metric.REFUSED, (double) destination.refused()),
                            Map.entry(Metric.FIRST_BACK, (destination.firstDone() - back) / 1e9),
                            Map.entry(Metric.LAST_BACK, (destination.lastDone() - back) / 1e9),
                            Map.entry(Metric.PROBES, (double) destination.mostUntil(destination.firstDone())),
                            Map.entry(Metric.MOST_100_MS, mostAfterFirst(destination, Duration.ofMillis(100))),
                            Map.entry(Metric.MOST_1_S, mostAfterFirst(destination, Duration.ofSeconds(1)))),
                    complete && recovered
                            ? ""
                            : "capped: %,d of %,d plain events and %,d of %,d that waited delivered"
                                    .formatted(done, plan.events(), destination.delivered(), waiting));
        }
    }

    private static double mostAfterFirst(Destination destination, Duration time) {
        return destination.mostUntil(destination.firstDone() + time.toNanos());
    }
}
