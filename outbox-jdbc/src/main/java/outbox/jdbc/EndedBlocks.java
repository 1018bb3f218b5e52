package outbox.jdbc;

import org.jspecify.annotations.Nullable;
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
 * Where in a table of PostgreSQL a purge has to look, because no index knows when events ended (ADR 50).
 *
 * <p>A purge looks at the table in portions of {@value #BLOCKS} blocks and remembers for each the earliest end that an
 * event there can have: of those that have ended, the earliest; of all others, the time of the look. Until that end is
 * past the retention, the portion holds nothing to delete and is not read again. So the first search of a process reads
 * the whole table, and later ones read what has something to delete.
 *
 * <p>What is remembered may be too late, never too early: an update by hand that sets an earlier end, or that moves an
 * ended row to another block, lets the row stay for at most another retention. A table that was rewritten has new files
 * and is looked at anew. Any thread may search; two at the same time only look twice.
 */
final class EndedBlocks {

    private static final int BLOCKS = 512;

    private final PostgresEventStore store;
    private volatile Known known = new Known("", Map.of()); // replaced when the files of the table are others

    EndedBlocks(PostgresEventStore store) {
        this.store = store;
    }

    /** The earliest end that a portion can have, by portion, for each end. */
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
     * Of the table and of those that inherit from it: whether all have blocks, as a view has not; their files; how many
     * blocks the longest has. And the time.
     */
    private record Extent(boolean hasBlocks, String files, long blocks, Instant now) {}

    /** What a look at a portion found. */
    private record Look(List<String> ended, @Nullable Instant earliest) {}

    /**
     * The ids of events that ended before the time, at least {@code limit} of them if there are as many; empty if this
     * cannot be told by blocks.
     */
    Optional<List<String>> find(Connection conn, TableShape shape, EventStatus terminal, Instant doneBefore, int limit)
            throws SQLException {
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
                Look look = look(conn, shape, terminal, doneBefore, portion);
                found.addAll(look.ended);
                Instant first = look.earliest;
                if (look.ended.isEmpty()) {
                    earliest.put(portion, first != null && first.isBefore(extent.now) ? first : extent.now);
                } // else something is left to look for, until it is deleted
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

    private Look look(Connection conn, TableShape shape, EventStatus terminal, Instant doneBefore, long portion)
            throws SQLException {
        // Binds: those of the condition, first block, block behind the last.
        String sql = """
                SELECT array_agg(event_id) FILTER (WHERE status = %1$d %2$s) AS ended,
                       MIN(done_at) AS earliest
                  FROM %3$s
                 WHERE ctid >= CAST(? AS tid)
                   AND ctid < CAST(? AS tid)
                   AND status = %1$d
                """.formatted(terminal.code(), store.endedBefore(terminal, shape), store.table());
        return store.query(
                        conn,
                        sql,
                        binder -> AbstractJdbcEventStore.bindEndedBefore(binder, terminal, doneBefore)
                                .text(firstOf(portion))
                                .text(firstOf(portion + 1)),
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
