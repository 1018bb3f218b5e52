package outbox.benchmarks;

import java.util.List;

/** A measurement that all its contenders run. */
interface Workload {

    /** The name in options and reports, such as W2. */
    String id();

    /** Describes the measurement in one line. */
    String title();

    /** Returns the names of the contenders that take part. */
    List<String> contenders();

    Measured run(BenchServer server, Contender contender, int round) throws Exception;
}
