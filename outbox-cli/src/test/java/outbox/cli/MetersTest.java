package outbox.cli;

import org.junit.jupiter.api.Test;
import outbox.admin.OutboxAdmin;
import outbox.jdbc.JdbcEventStores;
import outbox.spi.Leadership;

import java.sql.SQLException;

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
}
