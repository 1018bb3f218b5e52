package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.jdbc.HostileTable.Kind;
import outbox.testing.fault.ChildJvm;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Ten thousand rows with arbitrary column values that SQL allows, for a node with little memory. A row is either
 * good or bad in one column. Good rows have the largest, smallest and strangest values that can be delivered.
 *
 * <p>The status column is not changed: a row with an unknown status is not pending, and no relay reads it.
 */
@Tag("mariadb")
@Tag("process")
class HostileRowsTest {

    private static final int ROWS = 10_000;
    private static final int BAD_PERCENT = 20;

    @ParameterizedTest
    @EnumSource(
            names = {
                "OUTBOX_ON_POSTGRES",
                "MODULE_ON_POSTGRES",
                "TEXT_STATUS_ON_POSTGRES",
                "OUTBOX_ON_MARIADB",
                "TEXT_STATUS_ON_MARIADB"
            })
    void good_rows_are_delivered_and_bad_ones_are_dead_with_a_reason(Kind kind) throws Exception {
        long seed = Long.getLong("outbox.hostile.seed", new Random().nextLong());
        System.out.println(kind + " with -Doutbox.hostile.seed=" + seed);
        HostileTable table = new HostileTable(kind);
        Generator generator = new Generator(table, new Random(seed));
        List<Map<String, @Nullable String>> rows = new ArrayList<>();
        for (int i = 0; i < ROWS; i++) {
            rows.add(generator.next());
        }
        table.insert(rows);

        try (ChildJvm child = ChildJvm.of(HostileNode.class)
                .jvmOptions("-Xmx96m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError")
                .arguments(table.url, kind.name())
                .start()) {
            await().atMost(Duration.ofMinutes(3))
                    .pollInterval(Duration.ofMillis(300))
                    .until(() -> !child.isAlive() || isDown(child) || table.pending() == 0);
            assertThat(child.isAlive()).as("It did not run out of memory").isTrue();
            assertThat(child.lines())
                    .as("It works, and its health says so all the time; seed " + seed)
                    .contains(HostileNode.UP)
                    .noneMatch(line -> line.startsWith(HostileNode.DOWN));
        }
        Set<String> bad = generator.bad;
        Map<String, @Nullable String> dead = table.dead();
        Map<String, @Nullable String> unexpected = new HashMap<>(dead);
        unexpected.keySet().removeAll(bad);
        assertThat(unexpected)
                .as("good rows that are dead, and why; seed " + seed)
                .isEmpty();
        assertThat(dead).as("seed " + seed).hasSize(bad.size());
        assertThat(dead.values()).allSatisfy(why -> assertThat(why).isNotBlank());
        assertThat(table.done()).hasSize(ROWS - bad.size());
    }

    private static boolean isDown(ChildJvm child) {
        return child.lines().stream().anyMatch(line -> line.startsWith(HostileNode.DOWN));
    }

    /** Creates rows and remembers which of them are bad. */
    private static final class Generator {

        private static final String LETTERS = "aZ09 _-.:/\\'\"%$;{}é中\uD83D\uDE80\t\n\r\u001b\u0085\u202e\u200b";
        private static final int[] CODE_POINTS = LETTERS.codePoints().toArray();
        private static final String LARGEST = String.valueOf(Long.MAX_VALUE);
        private static final String SMALLEST = String.valueOf(Long.MIN_VALUE);

        private final HostileTable table;
        private final Kind kind;
        private final Random random;
        private final Set<String> bad = new HashSet<>();

        Generator(HostileTable table, Random random) {
            this.table = table;
            this.kind = table.kind;
            this.random = random;
        }

        Map<String, @Nullable String> next() {
            Map<String, @Nullable String> row = good();
            if (random.nextInt(100) < BAD_PERCENT) {
                spoil(row);
                bad.add(row.get("event_id"));
            }
            return row;
        }

        private Map<String, @Nullable String> good() {
            Map<String, @Nullable String> row = table.goodRow();
            row.put(table.column("event_type"), text(1, kind.isModule() ? some(200, 10_000) : 60));
            row.put("payload", payload());
            row.put(
                    table.column("created_at"),
                    one("0001-01-01 00:00:00", "1969-12-31 23:59:59", "2026-02-28 12:00:00"));
            row.put(
                    table.column("available_at"),
                    one("0001-01-01 00:00:00", "1970-01-01 00:00:01", "2026-02-28 12:00:00"));
            row.put(table.column("attempts"), one("0", "1", "5"));
            if (kind.isModule()) {
                row.put("sequence", one(SMALLEST, "-1", "0", LARGEST));
                row.put("last_error", oneOrNone(text(0, 1000)));
            } else {
                // at most 36 characters, and for MySQL none beyond ASCII
                row.put("event_id", (kind.isMySql() ? one("'", "%\"", "\\", "") : text(0, 9)) + uniqueHex());
            }
            if (kind.isTextStatus()) {
                row.put("aggregate_type", text(0, 64));
                row.put("aggregate_id", one(SMALLEST, "0", LARGEST));
                row.put("update_time", kind.isMySql() ? "9999-12-31 23:59:59" : one("-infinity", "infinity"));
            }
            if (kind.isOutbox()) {
                row.put("dedup_key", random.nextBoolean() ? null : text(0, 9) + uniqueHex());
                row.put("done_at", oneOrNone("0001-01-01 00:00:00", "9999-12-31 23:59:59"));
                row.put("aggregate_type", random.nextBoolean() ? null : text(0, 64));
                row.put("aggregate_id", random.nextBoolean() ? null : text(0, 128));
                row.put("tenant_id", random.nextBoolean() ? null : text(0, 64));
                row.put("headers", goodHeaders());
                row.put("occurred_at", oneOrNone("0001-01-01 00:00:00", "9999-12-31 23:59:59"));
                row.put("priority", oneOrNone("-32768", "32767", "9"));
                row.put("dedup_ms", oneOrNone("1", "3153600000000"));
                row.put("expires_at", oneOrNone("9999-12-31 23:59:59"));
                row.put("last_error", oneOrNone(text(0, 1000)));
                boolean held = random.nextInt(200) == 0; // claimed by a node that no longer exists
                row.put("locked_by", held ? text(1, 100) : null);
                row.put("locked_at", held ? "2020-01-01 00:00:00" : null);
            }
            return row;
        }

        private String uniqueHex() {
            return "%016x".formatted(random.nextLong());
        }

        private String payload() {
            int length = random.nextInt(300) == 0 ? some(20_000, 60_000) : random.nextInt(200);
            if (kind.isModule()) {
                return one("\"" + "j".repeat(length) + "\"", "{}", "[1e30000]", "null", "{\"a\": {\"b\": [true]}}");
            }
            return random.nextBoolean() ? text(length, length) : "é".repeat(length / 2);
        }

        private @Nullable String goodHeaders() {
            return switch (random.nextInt(6)) {
                case 0 -> "";
                case 1 -> "{}";
                case 2 -> "{\"n\": 1, \"b\": true, \"nothing\": null}";
                case 3 -> random.nextInt(50) == 0 ? "{\"large\":\"" + "h".repeat(65_531) + "\"}" : "{\"a\":\"b\"}";
                default -> null;
            };
        }

        private void spoil(Map<String, @Nullable String> row) {
            switch (random.nextInt(kind.isOutbox() ? 8 : 4)) {
                case 0 -> row.put(table.column("created_at"), never());
                case 1 -> row.put(table.column("available_at"), never());
                case 2 -> spoilPayload(row);
                case 3 -> {
                    if (kind.isModule()) {
                        row.put("locked_at", never());
                    } else {
                        row.put(table.column("attempts"), one("-1", "-2147483648", "2147483647"));
                    }
                }
                case 4 -> {
                    row.put("locked_by", text(1, 100));
                    row.put("locked_at", never());
                }
                case 5 -> row.put("headers", badHeaders());
                case 6 -> row.put("dedup_ms", one("0", "-1", LARGEST, SMALLEST));
                default -> row.put(random.nextBoolean() ? "occurred_at" : "expires_at", tooEarly());
            }
        }

        /** Makes only a few payloads too large, because the server must hold them too. */
        private void spoilPayload(Map<String, @Nullable String> row) {
            if (random.nextInt(100) < 2 && !table.kind.name().equals("TEXT_STATUS_ON_MARIADB")) { // TEXT has 64 KiB
                String large = "p".repeat(2_200_000);
                row.put("payload", kind.isModule() ? "\"" + large + "\"" : large);
            } else {
                row.put(table.column("created_at"), tooEarly());
            }
        }

        private String badHeaders() {
            return random.nextInt(20) == 0
                    ? "{\"large\":\"" + "h".repeat(some(65_600, 700_000)) + "\"}"
                    : one("{", "[]", "nonsense", "{\"a\":{}}", "{\"a\":\"b\"", "{\"\":\"\"}", "{\"\\u0007\":\"\"}");
        }

        private String never() {
            return kind.isMySql()
                    ? one("0000-01-01 00:00:00", "9999-12-31 00:00:00", "9999-12-31 23:59:59")
                    : one("-infinity", "infinity", "10000-01-01 00:00:00", "294276-12-31 00:00:00", "0001-01-01 BC");
        }

        private String tooEarly() {
            return kind.isMySql() ? "0000-01-01 00:00:00" : one("-infinity", "4713-01-01 BC");
        }

        private String text(int shortest, int longest) {
            int length = some(shortest, longest);
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < length; i++) {
                text.appendCodePoint(CODE_POINTS[random.nextInt(CODE_POINTS.length)]);
            }
            return text.toString();
        }

        private int some(int least, int most) {
            return least + random.nextInt(most - least + 1);
        }

        private String one(String... values) {
            return values[random.nextInt(values.length)];
        }

        private @Nullable String oneOrNone(String... values) {
            return random.nextBoolean() ? null : one(values);
        }
    }
}
