package outbox.testing.contract;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import outbox.Experimental;
import outbox.OutboxException;
import outbox.admin.EventAdministration;
import outbox.model.EventStatus;
import outbox.purge.OutboxPurge;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventControl;
import outbox.spi.EventStore;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * Contract tests for a purge: which events it deletes and, above all, which it keeps. A subclass supplies the
 * database and its store.
 */
@Experimental
public abstract class PurgeContract {

    private static final String TABLE = "outbox_event";

    private final AtomicReference<OutboxPurge> open = new AtomicReference<>();
    private OutboxRows rows;

    /** Returns the data source. It is the same database for the whole test and allows at least two connections. */
    protected abstract DataSource dataSource();

    /** Returns a new store for a table of that database. It must have {@link EventAdministration}. */
    protected abstract EventStore store(String table);

    /** Creates the table of the store. */
    protected abstract void createTables(EventStore store);

    @BeforeEach
    void freshTables() {
        rows = new OutboxRows(dataSource(), store(TABLE), TABLE);
        rows.execute("DROP TABLE IF EXISTS " + TABLE + " CASCADE");
        createTables(store(TABLE));
    }

    @AfterEach
    void closePurge() {
        OutboxPurge purge = open.get();
        if (purge != null) {
            purge.close();
        }
    }

    @Test
    void the_age_of_an_event_counts_from_its_end_and_not_from_its_writing() {
        rows.given("old", 3, EventStatus.DONE);
        rows.given("young", 2, EventStatus.DONE);
        rows.execute("UPDATE %s SET created_at = ?, available_at = ?", ago(90), ago(90));
        rows.execute("UPDATE %s SET done_at = ? WHERE event_id LIKE 'old%%'", ago(8));
        rows.execute("UPDATE %s SET done_at = ? WHERE event_id LIKE 'young%%'", ago(6));

        OutboxPurge.Result result = purge(OutboxPurge.builder());

        assertThat(result).isEqualTo(new OutboxPurge.Result(3, 0));
        assertThat(rows.count("event_id LIKE 'young%%'")).isEqualTo(2);
    }

    @Test
    void pending_events_stay_however_old_they_are() {
        rows.given("new", 2, EventStatus.NEW);
        rows.given("retry", 2, EventStatus.RETRY);
        rows.execute("UPDATE %s SET created_at = ?, available_at = ?, done_at = ?", ago(900), ago(900), ago(900));

        OutboxPurge.Result result =
                purge(OutboxPurge.builder().retention(Duration.ZERO).deadRetention(Duration.ZERO));

        assertThat(result.total()).isZero();
        assertThat(rows.count("1 = 1")).isEqualTo(4);
    }

    @Test
    void dead_events_stay_unless_a_retention_is_set_for_them() {
        rows.given("dead", 2, EventStatus.DEAD);
        rows.given("fresh", 1, EventStatus.DEAD);
        rows.execute("UPDATE %s SET available_at = ?, done_at = ? WHERE event_id LIKE 'dead%%'", ago(100), ago(100));

        OutboxPurge.Result without = purge(OutboxPurge.builder());
        OutboxPurge.Result with = purge(OutboxPurge.builder().deadRetention(Duration.ofDays(30)));

        assertThat(without).isEqualTo(new OutboxPurge.Result(0, 0));
        assertThat(with).isEqualTo(new OutboxPurge.Result(0, 2));
        assertThat(rows.count(EventStatus.DEAD)).isEqualTo(1);
    }

    @Test
    void a_dead_event_that_was_not_due_yet_goes_after_its_retention_too() {
        rows.given("expired", 1, EventStatus.DEAD);
        rows.execute("UPDATE %s SET available_at = ?, done_at = ?", ago(-100), ago(100));

        OutboxPurge.Result result = purge(OutboxPurge.builder().deadRetention(Duration.ofDays(30)));

        assertThat(result).isEqualTo(new OutboxPurge.Result(0, 1));
    }

    @Test
    void no_transaction_deletes_more_than_a_batch() {
        rows.given("done", 35, EventStatus.DONE);
        AtomicInteger transactions = new AtomicInteger();
        ConnectionProvider counting = () -> {
            transactions.incrementAndGet();
            return dataSource().getConnection();
        };

        OutboxPurge.Result result = OutboxPurge.builder()
                .connectionProvider(counting)
                .eventStore(store(TABLE))
                .retention(Duration.ZERO)
                .batchSize(10)
                .build()
                .purge();

        assertThat(result.done()).isEqualTo(35);
        // one more if the store keeps a history of attempts
        assertThat(transactions.get() - transactionsBefore()).isBetween(4, 5);
    }

    @Test
    void a_failing_batch_is_thrown_with_the_number_deleted_before_and_the_next_run_does_the_rest() {
        rows.given("done", 25, EventStatus.DONE);
        OutboxPurge purge =
                builder(failingAtCall(transactionsBefore() + 2)).batchSize(10).build();

        assertThatThrownBy(purge::purge)
                .isInstanceOf(OutboxException.class)
                .hasMessageContaining("after 10 were deleted");
        OutboxPurge.Result rest = purge.purge();

        assertThat(rest.done()).isEqualTo(15);
    }

    @Test
    void what_is_deleted_and_what_fails_is_told_to_the_metrics() {
        rows.given("done", 25, EventStatus.DONE);
        PurgeCounts counts = new PurgeCounts();
        OutboxPurge purge = builder(failingAtCall(transactionsBefore() + 2))
                .batchSize(10)
                .metrics(counts)
                .build();

        assertThatThrownBy(purge::purge).isInstanceOf(OutboxException.class);
        assertThat(counts.purged).hasValue(10);
        assertThat(counts.failures).hasValue(1);
        purge.purge();

        assertThat(counts.purged).hasValue(25);
        assertThat(counts.failures).hasValue(1);
    }

    @Test
    void a_started_purge_goes_on_after_a_failure() {
        rows.given("done", 5, EventStatus.DONE);
        OutboxPurge purge = builder(failingAtCall(transactionsBefore() + 1))
                .interval(Duration.ofMillis(20))
                .build();
        open.set(purge);

        purge.start();
        purge.start();
        await().until(() -> rows.count(EventStatus.DONE) == 0);
        rows.given("more", 5, EventStatus.DONE);

        await().until(() -> rows.count(EventStatus.DONE) == 0);
    }

    @Test
    void closing_ends_a_run_after_its_batch() {
        rows.given("done", 50, EventStatus.DONE);
        AtomicInteger calls = new AtomicInteger();
        OutboxPurge purge = builder(() -> {
                    if (calls.incrementAndGet() == transactionsBefore() + 2) {
                        Objects.requireNonNull(open.get()).close();
                    }
                    return dataSource().getConnection();
                })
                .batchSize(10)
                .build();
        open.set(purge);

        OutboxPurge.Result result = purge.purge();

        assertThat(result.done()).isEqualTo(20);
        assertThat(rows.count(EventStatus.DONE)).isEqualTo(30);
    }

    /** Returns the number of transactions before the first batch of events: one if the store has keys to purge. */
    private int transactionsBefore() {
        return store(TABLE).capability(EventControl.class).isPresent() ? 1 : 0;
    }

    @Test
    void writers_and_marks_do_not_wait_for_a_purge() throws SQLException {
        rows.given("done", 10, EventStatus.DONE);
        rows.given("new", 2, EventStatus.NEW);
        EventStore store = store(TABLE);
        try (Connection purging = dataSource().getConnection()) {
            purging.setAutoCommit(false);
            purging.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            int deleted = EventAdministration.of(store).purge(purging, EventStatus.DONE, ago(0).plusSeconds(1), 5);

            rows.write(OutboxRows.event("while-purging").build());
            int marked = rows.in(connection -> store.markDone(connection, "new-0000"));
            purging.rollback();

            assertThat(deleted).isEqualTo(5);
            assertThat(marked).isEqualTo(1);
        }
        assertThat(rows.count(EventStatus.DONE)).isEqualTo(11);
    }

    @Test
    void a_purge_does_not_wait_for_a_business_transaction() throws SQLException {
        rows.given("done", 10, EventStatus.DONE);
        EventStore store = store(TABLE);
        OutboxPurge.Result result;
        try (Connection business = dataSource().getConnection()) {
            business.setAutoCommit(false);
            store.insertNew(business, OutboxRows.event("a-still-open").build());
            long start = System.nanoTime();

            result = builder(dataSource()::getConnection).build().purge();

            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
            business.rollback();
        }
        assertThat(result.done()).isEqualTo(10);
    }

    @Test
    void a_purge_can_be_closed_at_any_time_and_not_be_used_again() {
        OutboxPurge purge = builder(dataSource()::getConnection).build();

        purge.close();
        Thread.currentThread().interrupt();
        purge.close();

        assertThat(Thread.interrupted()).isTrue();
        assertThatThrownBy(purge::start)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        assertThatThrownBy(purge::purge)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
    }

    @Test
    void a_started_purge_ends_when_it_is_closed() {
        OutboxPurge purge = builder(dataSource()::getConnection)
                .interval(Duration.ofMillis(1))
                .build();
        purge.start();

        purge.close();
        rows.given("done", 3, EventStatus.DONE);

        assertThat(rows.count(EventStatus.DONE)).isEqualTo(3);
        assertThat(Thread.getAllStackTraces().keySet())
                .noneMatch(thread -> thread.isAlive() && thread.getName().matches("outbox-.*-purge-1"));
    }

    @Test
    void a_wrong_setting_is_refused_by_name() {
        refused("retention", () -> OutboxPurge.builder().retention(Duration.ofDays(-1)));
        refused("deadRetention", () -> OutboxPurge.builder().deadRetention(Duration.ofDays(40_000)));
        refused("batchSize", () -> OutboxPurge.builder().batchSize(0));
        refused("batchSize", () -> OutboxPurge.builder().batchSize(10_001));
        refused("interval", () -> OutboxPurge.builder().interval(Duration.ZERO));
        refused(
                "connectionProvider",
                () -> OutboxPurge.builder().eventStore(store(TABLE)).build());
        refused(
                "eventStore",
                () -> OutboxPurge.builder()
                        .connectionProvider(dataSource()::getConnection)
                        .build());
    }

    private static void refused(String setting, Runnable wrong) {
        assertThatThrownBy(wrong::run)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(setting);
    }

    private ConnectionProvider failingAtCall(int failing) {
        AtomicInteger calls = new AtomicInteger();
        return () -> {
            if (calls.incrementAndGet() == failing) {
                throw new SQLTransientConnectionException("no route to the database", "08001");
            }
            return dataSource().getConnection();
        };
    }

    private OutboxPurge.Result purge(OutboxPurge.Builder builder) {
        try (OutboxPurge purge = builder.connectionProvider(dataSource()::getConnection)
                .eventStore(store(TABLE))
                .build()) {
            return purge.purge();
        }
    }

    private OutboxPurge.Builder builder(ConnectionProvider connections) {
        return OutboxPurge.builder()
                .connectionProvider(connections)
                .eventStore(store(TABLE))
                .retention(Duration.ZERO);
    }

    private Instant ago(int days) {
        return rows.now().minus(Duration.ofDays(days));
    }
}
