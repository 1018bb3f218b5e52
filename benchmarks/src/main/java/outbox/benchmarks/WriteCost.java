package outbox.benchmarks;

import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * Transactions per second without any delivery. The work of the server includes the warm-up, because a PostgreSQL
 * backend reports its commits late.
 *
 * @param warmUp how many transactions the same writers execute on the same connections before the measurement
 */
record WriteCost(String id, String title, Plan plan, int warmUp, List<String> contenders) implements Workload {

    @Override
    public Measured run(BenchServer server, Contender contender, int round) throws Exception {
        try (Trial trial = new Trial(server, contender, plan)) {
            trial.createNodes(UnaryOperator.identity());
            Writers.Write write = (writer, event) -> trial.node(writer).write(event);
            trial.begin();
            trial.startInvoices();
            Writers.run(plan, plan.events(), plan.events() + warmUp, write);
            long began = Writers.run(plan, write);
            double seconds = (System.nanoTime() - began) / 1e9;
            ServerCounters work = trial.end();
            double all = plan.events() + warmUp;
            return new Measured(
                    id,
                    contender.name(),
                    round,
                    Map.of(
                            Metric.RATE, plan.events() / seconds,
                            Metric.COMMITS, work.commits() / all,
                            Metric.STATEMENTS, work.statements() / all,
                            Metric.LOG_BYTES, work.logBytes() / all),
                    "");
        }
    }
}
