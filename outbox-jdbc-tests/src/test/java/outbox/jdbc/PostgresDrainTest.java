package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.testing.contract.StoreFixture;
import outbox.testing.fault.ChildJvm;

import java.sql.PreparedStatement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A small process drains a long backlog, and its memory use does not grow. Set the number of events
 * with {@code -Doutbox.drain.events=1000000}.
 */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("process")
class PostgresDrainTest {

    private static final int EVENTS = Integer.getInteger("outbox.drain.events", 100_000);
    private static final long SOME_KB = 4096;

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_long_backlog_is_drained_without_the_heap_growing_on_the_way(boolean deleteDone) {
        StoreFixture db = Databases.POSTGRES.fixture();
        givenBacklog(db, EVENTS);
        List<Long> heap = new ArrayList<>();

        try (ChildJvm child = ChildJvm.of(DrainNode.class)
                .jvmOptions("-Xmx128m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError")
                .arguments(urlOf(db), Databases.POSTGRES.name(), Integer.toString(EVENTS), Boolean.toString(deleteDone))
                .start()) {
            for (int i = 0; i < 10; i++) {
                String line = child.awaitLine("HEAP ", Duration.ofMinutes(5));
                heap.add(Long.valueOf(line.replaceAll("HEAP (\\d+) KB.*", "$1")));
            }
            System.out.println(heap + " KB, " + child.awaitLine("DRAINED " + EVENTS + " ", Duration.ofMinutes(1)));
        }

        assertThat(db.count("status = 1")).isEqualTo(deleteDone ? 0 : EVENTS);
        assertThat(db.count("1 = 1")).isEqualTo(deleteDone ? 0 : EVENTS);
        long early = Collections.max(heap.subList(0, 3));
        assertThat(heap.subList(5, 10)).as("KB on the way: %s", heap).allMatch(kb -> kb <= early * 3 / 2 + SOME_KB);
    }

    private static void givenBacklog(StoreFixture db, int events) {
        db.inTransaction(connection -> {
            try (PreparedStatement insert = connection.prepareStatement("""
                    INSERT INTO outbox_event (event_id, event_type, aggregate_type, payload, headers, status, available_at, created_at)
                    SELECT 'e' || n, 'T', '__GLOBAL__', '{"n":' || n || ',"text":"' || repeat('x', 200) || '"}', '{}', 0, now(), now()
                      FROM generate_series(1, ?) AS n
                    """)) {
                insert.setInt(1, events);
                assertThat(insert.executeUpdate()).isEqualTo(events);
            }
        });
    }

    private static String urlOf(StoreFixture db) {
        return ((HikariDataSource) db.dataSource()).getJdbcUrl();
    }
}
