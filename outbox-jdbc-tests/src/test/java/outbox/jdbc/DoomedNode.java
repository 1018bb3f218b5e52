package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.AfterCommitHook;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.EventInterceptor;
import outbox.dispatch.OutboxDispatcher;
import outbox.poller.OutboxPoller;
import outbox.poller.OutboxPollerHandler;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.ForwardingEventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;

/**
 * The main program of a node that will be killed. It writes an event, or takes one from the table, and stops at the
 * given step until it is killed. It prints the start and the end of each run. Arguments: JDBC URL, name of the
 * database, step.
 */
final class DoomedNode {

    /** The step at which the node dies. */
    enum Step {
        AFTER_INSERT,
        AFTER_COMMIT,
        AFTER_ENQUEUE,
        IN_LISTENER,
        AFTER_LISTENER,
        BEFORE_MARK,
        AFTER_MARK,
        AFTER_MARK_COMMIT,
        AFTER_CLAIM,
        AFTER_CLAIM_COMMIT,
        IN_LISTENER_OF_COLD_EVENT,
        /** The listener ends the process itself, if the event says so. */
        BOMB;

        /** Whether the event comes from the table and is not written by this node. */
        boolean isCold() {
            return this == AFTER_CLAIM
                    || this == AFTER_CLAIM_COMMIT
                    || this == IN_LISTENER_OF_COLD_EVENT
                    || this == BOMB;
        }
    }

    static final Duration LEASE = Duration.ofSeconds(1);
    static final int MAX_ATTEMPTS = 3;

    private final Step doom;

    private DoomedNode(Step doom) {
        this.doom = doom;
    }

    public static void main(String[] args) throws Exception {
        Databases database = Databases.valueOf(args[1]);
        new DoomedNode(Step.valueOf(args[2])).live(args[0], database.store());
        new CountDownLatch(1).await(); // the test ends this process
    }

    private void live(String url, LeasingEventStore realStore) {
        var pool = Databases.newPool(url, 5, true);
        LeasingEventStore store = watched(realStore);
        OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                .connectionProvider(pool::getConnection)
                .eventStore(store)
                .listenerRegistry((aggregateType, eventType) -> this::receive)
                .interceptor(EventInterceptor.after((event, error) -> reach(Step.AFTER_LISTENER)))
                .workerCount(doom == Step.AFTER_ENQUEUE ? 0 : 1)
                .maxAttempts(MAX_ATTEMPTS)
                .retryPolicy(attempts -> 0)
                .leaseDuration(LEASE)
                .metrics(new Node.Counts() {
                    @Override
                    public void incrementDispatchSuccess() {
                        reach(Step.AFTER_MARK_COMMIT);
                    }
                })
                .build();
        if (doom.isCold()) {
            OutboxPoller.builder()
                    .connectionProvider(pool::getConnection)
                    .eventStore(store)
                    .handler(handler(new DispatcherPollerHandler(dispatcher)))
                    .intervalMs(50)
                    .lockTimeout(LEASE)
                    .build()
                    .start();
        } else {
            ThreadLocalTxContext txContext = new ThreadLocalTxContext();
            OutboxWriter writer = new OutboxWriter(txContext, store, hook(new DispatcherCommitHook(dispatcher)));
            try (var tx = new JdbcTransactionManager(pool::getConnection, txContext).begin()) {
                writer.write(EventEnvelope.builder("T")
                        .eventId("first")
                        .payloadJson("{}")
                        .build());
                for (int i = 0; i < 3; i++) {
                    writer.write(EventEnvelope.builder("T")
                            .eventId("neighbour-" + i)
                            .payloadJson("{}")
                            .build());
                }
                tx.commit();
            }
        }
    }

    private void receive(EventEnvelope event) {
        System.out.println("START " + event.eventId());
        if (event.payloadJson().equals("\"bomb\"")) {
            Runtime.getRuntime().halt(137);
        }
        reach(Step.IN_LISTENER);
        reach(Step.IN_LISTENER_OF_COLD_EVENT);
        System.out.println("END " + event.eventId());
    }

    private AfterCommitHook hook(AfterCommitHook hook) {
        return new AfterCommitHook() {
            @Override
            public @Nullable Claim birthClaim(int events, long bytes) {
                return hook.birthClaim(events, bytes);
            }

            @Override
            public void onCommit(EventEnvelope event) {
                hook.onCommit(event);
            }

            @Override
            public void onCommit(EventEnvelope event, @Nullable Claim claim) {
                reach(Step.AFTER_COMMIT);
                hook.onCommit(event, claim);
                reach(Step.AFTER_ENQUEUE);
            }
        };
    }

    private OutboxPollerHandler handler(OutboxPollerHandler handler) {
        return (event, attempts) -> {
            reach(Step.AFTER_CLAIM_COMMIT);
            return handler.handle(event, attempts);
        };
    }

    private LeasingEventStore watched(LeasingEventStore store) {
        return new ForwardingEventStore(store) {
            @Override
            public boolean insertAll(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
                boolean lasting = super.insertAll(conn, events, birth);
                reach(Step.AFTER_INSERT);
                return lasting;
            }

            @Override
            public List<ClaimedEvent> claim(Connection conn, Claim claim, ClaimRequest request) {
                List<ClaimedEvent> claimed = super.claim(conn, claim, request);
                if (!claimed.isEmpty()) {
                    reach(Step.AFTER_CLAIM);
                }
                return claimed;
            }

            @Override
            public Set<String> mark(Connection conn, List<Mark> marks, Instant now) {
                reach(Step.BEFORE_MARK);
                Set<String> marked = super.mark(conn, marks, now);
                reach(Step.AFTER_MARK);
                return marked;
            }
        };
    }

    private void reach(Step step) {
        if (step == doom) {
            System.out.println("AT " + step);
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
