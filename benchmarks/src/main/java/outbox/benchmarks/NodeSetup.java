package outbox.benchmarks;

import java.util.Optional;
import javax.sql.DataSource;

/**
 * The parts that a node gets from its workload.
 *
 * @param dataSource the pool of the node
 * @param ledger the listener
 * @param ordered whether the events of an aggregate must be delivered in order
 * @param destination the listener of invoices
 * @param workers how many listeners must run at the same time; empty for the contender's own setting
 */
record NodeSetup(
        Product product,
        DataSource dataSource,
        Ledger ledger,
        boolean ordered,
        Destination destination,
        Optional<Integer> workers) {}
