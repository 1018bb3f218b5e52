package specification;

import outbox.AfterCommitHook;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.ThreadLocalTxContext;
import outbox.poller.OutboxPoller;
import outbox.poller.OutboxPollerHandler;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Imports the two types whose package differs between the texts from the packages of the Chinese text. */
final class ChineseImports {

    private final List<String> seen = new ArrayList<>();
    private final Set<String> handled = new HashSet<>();

    /** Writes an event with a hook and polls it with a handler, with both poller constructors and the builder. */
    List<String> deliver(ConnectionProvider connections, EventStore store) {
        ThreadLocalTxContext txContext = new ThreadLocalTxContext();
        AfterCommitHook hook = event -> seen.add("committed");
        AfterCommitHook none = AfterCommitHook.NOOP;
        try (JdbcTransactionManager.Transaction tx = new JdbcTransactionManager(connections, txContext).begin()) {
            new OutboxWriter(txContext, store, hook).write("T", "{}");
            new OutboxWriter(txContext, store, none);
            tx.commit();
        }
        OutboxPollerHandler full = new OutboxPollerHandler() {
            @Override
            public boolean handle(EventEnvelope event, int attempts) {
                throw new AssertionError("it has no capacity");
            }

            @Override
            public boolean hasCapacity() {
                return false;
            }
        };
        OutboxPollerHandler handler = (event, attempts) -> {
            if (handled.add(event.eventId())) {
                seen.add("polled");
            }
            return true;
        };
        try (OutboxPoller skipping =
                        new OutboxPoller(connections, store, full, Duration.ZERO, 50, 5000, MetricsExporter.NOOP);
                OutboxPoller plain =
                        new OutboxPoller(connections, store, handler, Duration.ZERO, 50, 5000, MetricsExporter.NOOP);
                OutboxPoller claiming = new OutboxPoller(
                        connections,
                        store,
                        handler,
                        Duration.ZERO,
                        50,
                        5000,
                        MetricsExporter.NOOP,
                        "poller-1",
                        Duration.ofMinutes(5));
                OutboxPoller built = OutboxPoller.builder()
                        .connectionProvider(connections)
                        .eventStore(store)
                        .handler(handler)
                        .build()) {
            skipping.poll();
            plain.poll();
            claiming.poll();
            built.poll();
        }
        return seen;
    }
}
