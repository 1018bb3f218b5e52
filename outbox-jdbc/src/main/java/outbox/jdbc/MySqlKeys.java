package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.internal.sql.Binder;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.CRC32;

/**
 * Keys on MySQL and MariaDB. Above READ COMMITTED, InnoDB locks gaps in two cases: a locking read of a missing key,
 * and a wait for an INSERT that is then rolled back. Such a gap lock blocks other inserts near the key. Two such
 * transactions that both insert cause a deadlock.
 *
 * <p>Therefore the table is divided into slots. Each slot has a permanent first row without a key. A transaction
 * locks that row before it accesses a key of the slot, and thereby owns all rows and gaps of the slot. Gap locks
 * never extend beyond the slot, because the slot is the first column of the primary key. Transactions wait for
 * each other only at first rows, where a wait leaves no gap lock. The cost is that keys of the same slot wait for
 * each other.
 */
final class MySqlKeys extends KeyStatements {

    private static final int SLOTS = 1024; // the same number as in V10__outbox_key.sql

    MySqlKeys(AbstractJdbcEventStore store) {
        super(store);
    }

    /** Counts the first rows. The table is created in a separate transaction before they are inserted. */
    @Override
    boolean isComplete(Connection conn) throws SQLException {
        String slots = IntStream.range(0, SLOTS).mapToObj(String::valueOf).collect(Collectors.joining(", "));
        String sql = "SELECT COUNT(*) FROM %s WHERE slot IN (%s) AND outbox_table = '' AND dedup_key = ''"
                .formatted(table(), slots);
        try (Statement statement = conn.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            return row.next() && row.getInt(1) == SLOTS;
        }
    }

    @Override
    @Nullable
    String lock(Connection conn, String key, String eventId) throws SQLException {
        lockSlot(conn, key);
        List<String> named = lockedRow(conn, key);
        if (!named.isEmpty()) {
            return named.get(0);
        }
        insert(conn, key, eventId);
        return null;
    }

    @Override
    Optional<String> latest(Connection conn, String key) throws SQLException {
        lockSlot(conn, key);
        return super.latest(conn, key);
    }

    @Override
    boolean lockUnlessLocked(Connection conn, String key) throws SQLException {
        return isSlotLocked(conn, key, " SKIP LOCKED") && super.lockUnlessLocked(conn, key);
    }

    private void lockSlot(Connection conn, String key) throws SQLException {
        if (!isSlotLocked(conn, key, "")) {
            throw new EventStoreException(
                    "Table " + table() + " has no first row for slot " + slotOf(key)
                            + ". Insert the first rows again as in "
                            + Capability.KEYS.resource(store().dialect().schemaName()) + " of outbox-jdbc.",
                    null);
        }
    }

    private boolean isSlotLocked(Connection conn, String key, String how) throws SQLException {
        // Binds: slot.
        String sql = "SELECT slot FROM %s WHERE slot = ? AND outbox_table = '' AND dedup_key = '' FOR UPDATE%s"
                .formatted(table(), how);
        return !store().query(conn, sql, binder -> binder.number(slotOf(key)), row -> row.getInt(1))
                .isEmpty();
    }

    @Override
    int placeOf(String key) {
        return slotOf(key);
    }

    private static int slotOf(String key) {
        CRC32 crc = new CRC32();
        crc.update(key.getBytes(StandardCharsets.UTF_8));
        return (int) (crc.getValue() % SLOTS);
    }

    @Override
    String insertSql() {
        return "INSERT INTO %s (slot, outbox_table, dedup_key, event_id) VALUES (?, ?, ?, ?)".formatted(table());
    }

    @Override
    String order() {
        return "k.slot, k.dedup_key";
    }

    @Override
    String isBehind() {
        return "(k.slot > ? OR k.slot = ? AND k.dedup_key > ?)";
    }

    @Override
    Binder bindBehind(Binder binder, String key) throws SQLException {
        return binder.number(slotOf(key)).number(slotOf(key)).text(key);
    }

    @Override
    String isKey(String prefix) {
        return prefix + "slot = ? AND " + super.isKey(prefix);
    }

    @Override
    Binder bindKey(Binder binder, String key) throws SQLException {
        return super.bindKey(binder.number(slotOf(key)), key);
    }
}
