package outbox.jdbc;

import outbox.jdbc.internal.claim.LayoutFence;
import outbox.jdbc.internal.claim.LedFence;
import outbox.model.EventStatus;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.sql.DataSource;

/** Tables with other layouts, and how the contract reads their rows. */
final class LayoutFixture implements StoreFixture.Rows {

    private static final List<String> TOKENS = List.of("ours/1", "theirs/1", "ours/2");

    private final LayoutEventStore store;

    private LayoutFixture(LayoutEventStore store) {
        this.store = store;
    }

    static StoreFixture module() {
        ModuleTable table = new ModuleTable();
        return new StoreFixture(table.dataSource, table.store, table.table, true, new LayoutFixture(table.store));
    }

    static StoreFixture textStatus(Databases database) {
        TestLead lead = new TestLead();
        lead.offered = true;
        lead.lead();
        TableLayout layout = TableLayout.textStatus("outbox_events");
        DataSource pool = database.pool(
                "text status", created -> LayoutSchema.create(created, LayoutEventStore.of(created, layout, lead)));
        LayoutEventStore store = LayoutEventStore.of(pool, layout, lead);
        return new StoreFixture(pool, store, "outbox_events", false, new LayoutFixture(store));
    }

    /** The specification's table, accessed through a layout description. */
    static StoreFixture specification(Databases database) {
        StoreFixture shipped = database.fixture();
        LayoutEventStore store = LayoutEventStore.of(shipped.dataSource(), TableLayout.specification(shipped.table()));
        return new StoreFixture(shipped.dataSource(), store, shipped.table(), shipped.zonedTimes());
    }

    @Override
    public StoreFixture.Row row(Connection connection, String eventId) throws SQLException {
        LayoutSql sql = store.sql();
        String error = sql.has(LayoutColumn.LAST_ERROR) ? sql.column(LayoutColumn.LAST_ERROR) : "NULL";
        String text = "SELECT " + sql.code() + ", " + sql.column(LayoutColumn.ATTEMPTS) + ", " + error + " FROM "
                + store.sqlName() + " WHERE " + sql.column(LayoutColumn.EVENT_ID) + " = "
                + sql.parameter(store.shape(connection), LayoutColumn.EVENT_ID);
        String holder = null;
        for (String token : TOKENS) {
            holder = lockedBy(connection, token).contains(eventId) ? token : holder;
        }
        try (PreparedStatement select = connection.prepareStatement(text)) {
            select.setString(1, eventId);
            try (ResultSet row = select.executeQuery()) {
                if (!row.next()) {
                    throw new AssertionError("There is no event " + eventId);
                }
                return new StoreFixture.Row(EventStatus.of(row.getInt(1)), row.getInt(2), row.getString(3), holder);
            }
        }
    }

    @Override
    public long count(Connection connection, String condition) throws SQLException {
        LayoutSql sql = store.sql();
        String text = "SELECT COUNT(*) FROM (SELECT " + sql.code() + " AS status FROM " + store.sqlName() + ") e WHERE "
                + condition;
        try (PreparedStatement select = connection.prepareStatement(text);
                ResultSet row = select.executeQuery()) {
            row.next();
            return row.getLong(1);
        }
    }

    @Override
    public Set<String> lockedBy(Connection connection, String token) throws SQLException {
        LayoutSql sql = store.sql();
        LayoutFence.Piece held = store.fence().held(token);
        String text = "SELECT " + sql.column(LayoutColumn.EVENT_ID) + " FROM " + store.sqlName() + " WHERE "
                + sql.isUnfinished() + held.sql();
        Set<String> found = new HashSet<>(store.query(connection, text, held.binds(), row -> row.getString(1)));
        found.removeIf(eventId -> store.fence() instanceof LedFence led && !led.wasHeld(eventId));
        return Set.copyOf(store.fence().mine(token, found));
    }

    @Override
    public void makeDue(Connection connection, String eventId, Instant at) throws SQLException {
        LayoutSql sql = store.sql();
        String text = "UPDATE " + store.sqlName() + " SET " + sql.column(LayoutColumn.AVAILABLE_AT) + " = ? WHERE "
                + sql.column(LayoutColumn.EVENT_ID) + " = "
                + sql.parameter(store.shape(connection), LayoutColumn.EVENT_ID);
        store.update(
                connection,
                text,
                binder -> binder.time(sql.plain(LayoutColumn.AVAILABLE_AT), at).text(eventId));
    }
}
