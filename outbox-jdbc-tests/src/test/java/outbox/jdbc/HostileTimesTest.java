package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.jdbc.HostileTable.Kind;
import outbox.poller.OutboxPoller;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Times that no duration can express or that never come: infinities, and the first and last values of a column. */
@Tag("mariadb")
class HostileTimesTest {

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a_time_out_of_range_makes_its_row_dead_and_the_others_are_delivered(Kind kind) {
        check(kind, poller -> {});
    }

    @ParameterizedTest
    @EnumSource(names = {"OUTBOX_ON_POSTGRES", "OUTBOX_ON_MARIADB", "MODULE_ON_POSTGRES"})
    void such_rows_are_found_by_a_poller_that_leaves_recent_ones_alone(Kind kind) {
        check(kind, poller -> poller.skipRecent(Duration.ofSeconds(1)));
    }

    private static void check(Kind kind, Consumer<OutboxPoller.Builder> settings) {
        HostileTable table = new HostileTable(kind);
        List<Map<String, @Nullable String>> good = table.goodRows(20);
        List<Map<String, @Nullable String>> bad = badRows(table);
        table.insert(good);
        table.insert(bad);

        try (Node node = new Node(table.pool, kind.store(table.pool), dispatcher -> {}, settings)) {
            node.poller.start();
            await().atMost(Duration.ofSeconds(60)).until(() -> table.pending() == 0);

            assertThat(node.deliveredIds()).containsExactlyInAnyOrderElementsOf(HostileTable.ids(good));
        }
        assertThat(table.done().keySet()).containsExactlyInAnyOrderElementsOf(HostileTable.ids(good));
        assertThat(table.dead().keySet()).containsExactlyInAnyOrderElementsOf(HostileTable.ids(bad));
        assertThat(table.dead().values()).allSatisfy(why -> assertThat(why).isNotBlank());
    }

    private static List<Map<String, @Nullable String>> badRows(HostileTable table) {
        List<Map<String, @Nullable String>> rows = new ArrayList<>();
        for (String ours : List.of("created_at", "available_at", "locked_at", "occurred_at", "expires_at")) {
            String column = table.column(ours);
            if (!table.has(column) || !table.kind.isOutbox() && column.matches("occurred_at|expires_at")) {
                continue; // the layout of the specification does not have the last two
            }
            for (String value : values(table.kind, ours)) {
                Map<String, @Nullable String> row = table.goodRow();
                row.put(column, value);
                if (ours.equals("locked_at") && table.has("locked_by")) {
                    row.put("locked_by", "somebody/1");
                }
                rows.add(row);
            }
        }
        return rows;
    }

    private static List<String> values(Kind kind, String column) {
        if (kind.isMySql()) {
            return switch (column) {
                case "created_at" -> List.of("0000-00-00 00:00:00", "0000-01-01 00:00:00", "9999-12-31 23:59:59");
                case "available_at", "locked_at" -> List.of("0000-01-01 00:00:00", "9999-12-31 23:59:59");
                default -> List.of("0000-01-01 00:00:00"); // for these, the last day is a valid time
            };
        }
        return kind.database == Databases.H2
                ? List.of("-999999999-01-01 00:00:00", "10000-01-01 00:00:00", "999999999-12-31 23:59:59")
                : List.of("-infinity", "infinity", "10000-01-01 00:00:00", "294276-12-31 00:00:00", "4713-01-01 BC");
    }
}
