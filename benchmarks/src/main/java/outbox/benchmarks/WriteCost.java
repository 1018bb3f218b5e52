package outbox.benchmarks;

import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Transactions per second while nothing is delivered. */
record WriteCost(String id, String title, Plan plan, List<String> contenders) implements Workload {

    @Override
    public Measured run(BenchServer server, Contender contender, int round) throws Exception {
        try (Trial trial = new Trial(server, contender, plan)) {
            trial.createNodes(UnaryOperator.identity());
            trial.begin();
            long began = Writers.run(plan, (writer, event) -> trial.node(writer).write(event));
            double seconds = (System.nanoTime() - began) / 1e9;
            ServerCounters work = trial.end();
            return new Measured(
                    id,
                    contender.name(),
                    round,
                    Map.of(
                            Metric.RATE, plan.events() / seconds,
                            Metric.COMMITS, (double) work.commits() / plan.events(),
                            Metric.STATEMENTS, (double) work.statements() / plan.events(),
                            Metric.LOG_BYTES, (double) work.logBytes() / plan.events()),
                    "");
        }
    }
}
