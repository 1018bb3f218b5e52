package outbox.benchmarks;

import java.util.List;

/** A question to the contenders. */
interface Workload {

    /** The name in options and reports, such as W2. */
    String id();

    /** What is measured, in a line. */
    String title();

    /** The contenders that it is for. */
    List<String> contenders();

    Measured run(BenchServer server, Contender contender, int round) throws Exception;
}
