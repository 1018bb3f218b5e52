package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.jdbc.HostileTable.Kind;
import outbox.testing.fault.ChildJvm;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Rows that are too large for the memory of a node, and rows that the database itself cannot read. */
@Tag("mariadb")
@Tag("process")
class UnreadableRowsTest {

    private static final int MIB = 1 << 20;

    @ParameterizedTest
    @EnumSource(names = {"OUTBOX_ON_POSTGRES", "MODULE_ON_POSTGRES", "OUTBOX_ON_MARIADB", "TEXT_STATUS_ON_MARIADB"})
    void rows_larger_than_the_memory_are_dead_and_the_others_are_delivered(Kind kind) throws Exception {
        HostileTable table = new HostileTable(kind);
        List<Map<String, @Nullable String>> good = table.goodRows(50);
        List<Map<String, @Nullable String>> large = table.goodRows(largeRows(kind));
        table.insert(large);
        if (kind.isMySql()) {
            table.execute("ALTER TABLE " + table.table() + " MODIFY payload LONGTEXT NOT NULL");
        }
        fill(table, HostileTable.ids(large), 6 * MIB);
        // on MySQL a value is never larger than a packet (16 MiB)
        if (!kind.isMySql()) {
            fill(table, HostileTable.ids(large).subList(0, 1), 120 * MIB);
        }
        table.insert(good);

        String heap = kind.isMySql() ? "-Xmx64m" : "-Xmx256m";
        try (ChildJvm child = ChildJvm.of(HostileNode.class)
                .jvmOptions(heap, "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError")
                .arguments(table.url, kind.name())
                .start()) {
            child.awaitLine("STARTED", Duration.ofSeconds(60));
            await().atMost(Duration.ofSeconds(90)).until(() -> !child.isAlive() || table.pending() == 0);
            assertThat(child.isAlive()).as("It did not run out of memory").isTrue();
        }
        assertThat(table.done().keySet()).containsExactlyInAnyOrderElementsOf(HostileTable.ids(good));
        assertThat(table.dead().keySet()).containsExactlyInAnyOrderElementsOf(HostileTable.ids(large));
        if (!kind.isTextStatus()) {
            assertThat(table.dead().values()).allSatisfy(why -> assertThat(why).contains("bytes; at most"));
        }
    }

    /**
     * Returns a number of rows that do not fit into memory. It is lower where the size of a value is expensive to
     * find: InnoDB reads the whole value, and jsonb is converted to text.
     */
    private static int largeRows(Kind kind) {
        return kind.isMySql() ? 12 : kind.isModule() ? 31 : 101;
    }

    private static void fill(HostileTable table, List<String> ids, int bytes) {
        String value = table.kind.isModule() ? "to_jsonb(repeat('x', " + bytes + "))" : "REPEAT('x', " + bytes + ")";
        String in = String.join(", ", ids.stream().map(id -> "'" + id + "'").toList());
        table.execute("UPDATE " + table.table() + " SET payload = " + value + " WHERE event_id IN (" + in + ")");
    }

    @Test
    void a_corrupt_row_is_found_by_halves_and_dead_and_the_others_are_delivered() {
        HostileTable table = new HostileTable(Kind.OUTBOX_ON_POSTGRES);
        List<Map<String, @Nullable String>> good = table.goodRows(100);
        List<Map<String, @Nullable String>> corrupt = table.goodRows(3);
        corrupt.forEach(row -> row.put("payload", "x".repeat(8000)));
        table.execute("ALTER TABLE outbox_event ALTER payload SET STORAGE EXTERNAL");
        table.insert(good.subList(0, 50));
        table.insert(corrupt);
        dropToast(table);
        table.insert(good.subList(50, 100));

        try (Node node = new Node(table.pool, Kind.OUTBOX_ON_POSTGRES.store(table.pool))) {
            node.poller.start();
            await().atMost(Duration.ofSeconds(60)).until(() -> table.pending() == 0);
        }

        assertThat(table.done().keySet()).containsExactlyInAnyOrderElementsOf(HostileTable.ids(good));
        assertThat(table.dead().keySet()).containsExactlyInAnyOrderElementsOf(HostileTable.ids(corrupt));
        assertThat(table.dead().values()).allSatisfy(why -> assertThat(why).contains("cannot be read"));
    }

    /**
     * Deletes the TOAST data of the rows. The server allows this only if its catalog lists the TOAST table as a
     * plain table.
     */
    private static void dropToast(HostileTable table) {
        table.execute("""
                SET allow_system_table_mods = on;
                DO $$
                DECLARE toast regclass;
                BEGIN
                    SELECT reltoastrelid INTO toast FROM pg_class WHERE oid = 'outbox_event'::regclass;
                    UPDATE pg_class SET relkind = 'r' WHERE oid = toast;
                    EXECUTE 'DELETE FROM ' || toast;
                    UPDATE pg_class SET relkind = 't' WHERE oid = toast;
                END $$;
                RESET allow_system_table_mods
                """);
        // rows that are only deleted could still be read
        table.execute("VACUUM outbox_event");
    }

    @ParameterizedTest
    @EnumSource(names = {"OUTBOX_ON_POSTGRES", "OUTBOX_ON_MARIADB"})
    void events_that_the_memory_cannot_hold_together_are_read_a_few_at_a_time(Kind kind) throws Exception {
        HostileTable table = new HostileTable(kind);
        List<Map<String, @Nullable String>> large = table.goodRows(100);
        // first, so that the poller expects small rows
        table.insert(table.goodRows(100));
        large.forEach(row -> row.put(table.column("available_at"), "2026-01-02 00:00:00"));
        table.insert(large);
        fill(table, HostileTable.ids(large), MIB);

        try (ChildJvm child = ChildJvm.of(HostileNode.class)
                .jvmOptions("-Xmx64m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError")
                .arguments(table.url, kind.name())
                .start()) {
            await().atMost(Duration.ofSeconds(90)).until(() -> !child.isAlive() || table.pending() == 0);
            assertThat(child.isAlive()).as("It did not run out of memory").isTrue();
        }
        assertThat(table.done()).hasSize(200);
    }

    @Test
    void events_of_the_largest_size_come_one_after_the_other_if_there_is_little_memory() {
        HostileTable table = new HostileTable(Kind.OUTBOX_ON_POSTGRES);
        List<Map<String, @Nullable String>> rows = IntStream.range(0, 40)
                .mapToObj(i -> {
                    Map<String, @Nullable String> row = table.goodRow();
                    row.put("event_id", UUID.randomUUID().toString());
                    row.put("payload", "x".repeat(MIB));
                    return row;
                })
                .toList();
        table.insert(table.goodRows(100));
        table.insert(rows);

        try (Node node = new Node(
                table.pool,
                Kind.OUTBOX_ON_POSTGRES.store(table.pool),
                dispatcher -> dispatcher.maxQueuedBytes(4L * MIB),
                poller -> {})) {
            node.poller.start();
            await().atMost(Duration.ofSeconds(60)).until(() -> table.done().size() == 140);

            assertThat(node.delivered).hasSize(140);
        }
    }
}
