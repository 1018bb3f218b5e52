package outbox.testing.contract;

import org.junit.jupiter.api.BeforeEach;
import outbox.admin.AdminRequest;
import outbox.admin.EventAdministration;
import outbox.admin.EventFilter;
import outbox.admin.OutboxAdmin;
import outbox.spi.EventStore;

import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.sql.DataSource;

/** The tables of the admin contract, and a store for each of them. */
abstract class AdminFixture {

    static final String TABLE = "outbox_event";
    static final String SPECIFICATION_TABLE = "spec_outbox";
    static final Instant FAR = Instant.parse("2300-01-01T00:00:00Z");
    static final Instant DAY = Instant.parse("2026-03-01T12:00:00Z");

    /**
     * Test classes that have already created their tables. They keep them, because DDL takes longer than most tests.
     */
    static final Set<Class<?>> CREATED = ConcurrentHashMap.newKeySet();

    OutboxRows rows;
    OutboxAdmin admin;

    /** Returns the data source. It is the same database for the whole test and allows at least two connections. */
    protected abstract DataSource dataSource();

    /** Returns a new store for a table of that database. It must have {@link EventAdministration}. */
    protected abstract EventStore store(String table);

    /** Creates the table of the store and the audit table. */
    protected abstract void createTables(EventStore store);

    OutboxRows rowsOf(String table) {
        return new OutboxRows(dataSource(), store(table), table);
    }

    OutboxAdmin adminOf(String table) {
        return new OutboxAdmin(dataSource()::getConnection, store(table));
    }

    @BeforeEach
    void freshTables() {
        rows = rowsOf(TABLE);
        admin = adminOf(TABLE);
        if (!CREATED.contains(getClass()) || !emptied()) {
            for (String table : List.of(TABLE, SPECIFICATION_TABLE, "outbox_audit")) {
                rows.execute("DROP TABLE IF EXISTS " + table + " CASCADE");
            }
            createTables(store(TABLE));
            CREATED.add(getClass());
        }
    }

    /**
     * Deletes all rows. Returns false if a test changed the tables: each such test drops the audit table, so the
     * first statement fails.
     */
    boolean emptied() {
        try {
            rows.execute("DELETE FROM outbox_audit");
            rows.execute("DELETE FROM " + TABLE);
            return true;
        } catch (IllegalStateException e) {
            return false;
        }
    }

    void givenTableOfTheSpecification() {
        rows.execute("DROP TABLE outbox_audit");
        rows.execute("""
                CREATE TABLE spec_outbox (
                    event_id VARCHAR(36) NOT NULL PRIMARY KEY, event_type VARCHAR(128) NOT NULL,
                    aggregate_type VARCHAR(64), aggregate_id VARCHAR(128), tenant_id VARCHAR(64),
                    payload TEXT NOT NULL, headers TEXT, status SMALLINT NOT NULL, attempts INT NOT NULL DEFAULT 0,
                    available_at TIMESTAMP(6) NOT NULL, created_at TIMESTAMP(6) NOT NULL, done_at TIMESTAMP(6) NULL,
                    last_error TEXT, locked_by VARCHAR(128), locked_at TIMESTAMP(6) NULL)
                """);
    }

    long audits() {
        return rows.number("SELECT COUNT(*) FROM outbox_audit");
    }

    static AdminRequest.Builder request(EventFilter filter) {
        return AdminRequest.builder()
                .filter(filter)
                .actor("operator")
                .reason("test")
                .confirmed(true);
    }
}
