package outbox.benchmarks;

import java.util.Optional;
import javax.sql.DataSource;

/**
 * What a node gets from its workload.
 *
 * @param dataSource the pool of the node
 * @param ledger     the listener
 * @param ordered    whether the events of an aggregate must be delivered in order
 * @param workers    how many listeners must run at a time; empty for the contender's own setting
 */
record NodeSetup(Product product, DataSource dataSource, Ledger ledger, boolean ordered, Optional<Integer> workers) {}
