package outbox.cli;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.admin.OutboxAdmin;
import outbox.jdbc.JdbcEventStores;
import outbox.spi.Leadership;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;

class MetersTest {

    private static final OutboxAdmin ADMIN = new OutboxAdmin(
            () -> {
                throw new SQLException("not in this test");
            },
            JdbcEventStores.get("h2"));

    private static final Leadership LEADER = new Leadership() {
        @Override
        public boolean lead() {
            return true;
        }

        @Override
        public boolean isLeader() {
            return true;
        }

        @Override
        public void close() {}
    };

    @Test
    void only_a_table_with_leaders_tells_who_leads() {
        try (Meters meters = new Meters()) {
            meters.of("led_outbox", ADMIN, LEADER);
            meters.of("shared_outbox", ADMIN, null);

            assertThat(meters.scrape())
                    .contains("outbox_relay_leader{table=\"led_outbox\"} 1", "outbox_pending{table=\"shared_outbox\"}")
                    .doesNotContain("outbox_relay_leader{table=\"shared_outbox\"}");
        }
    }

    @Test
    @Timeout(60)
    void a_silent_database_is_waited_for_once_not_once_for_each_table() {
        CountDownLatch answers = new CountDownLatch(1);
        OutboxAdmin silent = new OutboxAdmin(
                () -> {
                    try {
                        answers.await(40, TimeUnit.SECONDS);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    throw new SQLException("not in this test");
                },
                JdbcEventStores.get("h2"));
        try (Meters meters = new Meters()) {
            for (int i = 0; i < 6; i++) {
                meters.of("table" + i, silent, null);
            }
            long start = System.nanoTime();

            String scraped = meters.scrape();

            // one after the other they would take 6 * 2 s
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(6));
            assertThat(scraped).contains("outbox_pending{table=\"table5\"} NaN");
        } finally {
            answers.countDown();
        }
    }
}
