package outbox.benchmarks;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Milliseconds from commit to listener at a constant rate. The writers do not wait for slow events. */
record Latency(String id, String title, int perSecond, int seconds, int warmUpSeconds, List<String> contenders)
        implements Workload {

    private static final Duration CAP = Duration.ofSeconds(20);

    @Override
    public Measured run(BenchServer server, Contender contender, int round) throws Exception {
        Plan plan = Plan.of(perSecond * (seconds + warmUpSeconds), 1000);
        CommitClock clock = new CommitClock();
        try (Trial trial = new Trial(server, contender, plan)) {
            trial.createNodes(clock::watch);
            trial.begin();
            trial.startNodes();
            long start = System.nanoTime();
            Writers.run(plan, (writer, event) -> {
                Pause.untilNanoTime(start + event.number() * 1_000_000_000L / perSecond);
                clock.reset();
                trial.node(writer).write(event);
                trial.ledger().committed(event.number(), clock.firstCommit());
            });
            boolean complete = trial.awaitDone(System.nanoTime() + CAP.toNanos());
            trial.end();
            double[] millis = trial.ledger().latencies(perSecond * warmUpSeconds);
            return new Measured(
                    id,
                    contender.name(),
                    round,
                    Map.of(
                            Metric.P50, percentile(millis, 50),
                            Metric.P95, percentile(millis, 95),
                            Metric.P99, percentile(millis, 99),
                            Metric.MAX, percentile(millis, 100),
                            Metric.DUPLICATES, (double) trial.ledger().duplicates()),
                    complete
                            ? ""
                            : "capped: %,d of %,d delivered"
                                    .formatted(trial.ledger().seen(), plan.events()));
        }
    }

    private static double percentile(double[] sorted, int percent) {
        return sorted.length == 0
                ? Double.NaN
                : sorted[Math.min(sorted.length - 1, (int) Math.ceil(sorted.length * percent / 100.0) - 1)];
    }
}
