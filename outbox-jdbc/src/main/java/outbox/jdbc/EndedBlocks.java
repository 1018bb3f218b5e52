package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.internal.claim.LayoutFence.Piece;
import outbox.jdbc.internal.purge.PurgeSearch;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.model.EventStatus;

import java.sql.Array;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Finds the parts of a PostgreSQL table that a purge has to read, because no index contains the end time of events
 * (ADR 50).
 *
 * <p>A purge reads the table in portions of {@value #BLOCKS} blocks. For each portion it remembers the earliest end
 * time that an event there can have: the earliest of all events that have ended, or the time of the scan for the
 * others. The portion contains nothing to delete until that time is older than the retention, and it is not read
 * again before. So the first search of a process reads the whole table, and later searches read only the portions
 * that have something to delete.
 *
 * <p>A remembered time may be too late, never too early: if a manual update sets an earlier end time or moves an
 * ended row to another block, the row stays for at most one more retention period. The remembered times are
 * discarded when the table is rewritten, because it then has new files. Any thread may search. Two searches at the
 * same time only read the same blocks twice.
 */
final class EndedBlocks implements PurgeSearch {

    private static final int BLOCKS = 512;
    private static final int FIRST_WITH_RANGES_OF_BLOCKS = 14; // the first version that can scan a range of blocks

    private final AbstractJdbcEventStore store;
    // Replaced when the table has new files. Written and read by any thread that searches.
    private volatile Known known = new Known("", Map.of());

    EndedBlocks(AbstractJdbcEventStore store) {
        this.store = store;
    }

    /** For each terminal status, the earliest possible end time by portion. */
    private record Known(String files, Map<EventStatus, Map<Long, Instant>> earliest) {

        static Known of(String files) {
            return new Known(
                    files,
                    Map.of(EventStatus.DONE, new ConcurrentHashMap<>(), EventStatus.DEAD, new ConcurrentHashMap<>()));
        }

        Map<Long, Instant> of(EventStatus terminal) {
            Map<Long, Instant> portions = earliest.get(terminal);
            if (portions == null) {
                throw new IllegalArgumentException("Only DONE and DEAD events can be purged, not " + terminal);
            }
            return portions;
        }
    }

    /**
     * The extent of the table and the tables that inherit from it.
     *
     * @param hasBlocks whether all of them have blocks; a view has none
     * @param files their files
     * @param blocks the number of blocks of the largest one
     * @param now the time of the database
     */
    private record Extent(boolean hasBlocks, String files, long blocks, Instant now) {}

    /** The result of reading a portion. */
    private record Look(List<String> ended, @Nullable Instant earliest) {}

    @Override
    public Optional<List<String>> find(
            Connection conn, EventStatus terminal, Piece isEnded, Instant doneBefore, int limit) throws SQLException {
        if (conn.getMetaData().getDatabaseMajorVersion() < FIRST_WITH_RANGES_OF_BLOCKS) {
            return Optional.empty();
        }
        Extent extent = extent(conn);
        if (!extent.hasBlocks) {
            return Optional.empty();
        }
        Known current = known;
        if (!extent.files.equals(current.files)) {
            current = Known.of(extent.files);
            known = current;
        }
        Map<Long, Instant> earliest = current.of(terminal);
        List<String> found = new ArrayList<>();
        for (long portion = 0; portion * BLOCKS < extent.blocks && found.size() < limit; portion++) {
            Instant end = earliest.get(portion);
            if (end == null || end.isBefore(doneBefore)) {
                Look look = look(conn, terminal, isEnded, portion);
                found.addAll(look.ended);
                Instant first = look.earliest;
                if (look.ended.isEmpty()) {
                    earliest.put(portion, first != null && first.isBefore(extent.now) ? first : extent.now);
                } // otherwise read the portion again until its events are deleted
            }
        }
        return Optional.of(found);
    }

    private Extent extent(Connection conn) throws SQLException {
        // Binds: table.
        String sql = """
                WITH RECURSIVE tree (oid) AS (
                    SELECT to_regclass(?)::oid
                    UNION
                    SELECT i.inhrelid
                      FROM pg_inherits i
                      JOIN tree t ON t.oid = i.inhparent
                )
                SELECT bool_and(c.relkind IN ('r', 'p')) AS has_blocks,
                       string_agg(pg_relation_filenode(c.oid)::text, ' ' ORDER BY c.oid) AS files,
                       MAX(pg_relation_size(c.oid)) / current_setting('block_size')::bigint AS blocks,
                       clock_timestamp() AS now
                  FROM tree t
                  JOIN pg_class c ON c.oid = t.oid
                """;
        return store.query(
                        conn,
                        sql,
                        binder -> binder.text(store.table().value()),
                        row -> new Extent(
                                row.getBoolean("has_blocks"),
                                String.valueOf(row.getString("files")),
                                row.getLong("blocks"),
                                row.getObject("now", OffsetDateTime.class).toInstant()))
                .get(0);
    }

    private Look look(Connection conn, EventStatus terminal, Piece isEnded, long portion) throws SQLException {
        TableColumns shape = store.shape(conn);
        // Binds: those of the condition, first block, block after the last.
        String sql = """
                SELECT array_agg(event_id) FILTER (WHERE %1$s) AS ended,
                       MIN(done_at) AS earliest
                  FROM %2$s
                 WHERE ctid >= CAST(? AS tid)
                   AND ctid < CAST(? AS tid)
                   AND status = %3$d
                """.formatted(isEnded.sql(), store.table(), terminal.code());
        return store.query(
                        conn,
                        sql,
                        binder -> {
                            isEnded.binds().to(binder);
                            binder.text(firstOf(portion)).text(firstOf(portion + 1));
                        },
                        row -> new Look(ids(row), shape.read(row, "done_at", "earliest")))
                .get(0);
    }

    private static String firstOf(long portion) {
        return "(" + portion * BLOCKS + ",0)";
    }

    private static List<String> ids(ResultSet row) throws SQLException {
        Array ended = row.getArray("ended");
        return ended == null ? List.of() : Arrays.asList((String[]) ended.getArray());
    }
}
