package outbox.relay;

import org.junit.jupiter.api.Test;
import outbox.fake.MemoryEventStore;

import java.sql.SQLException;
import java.time.Duration;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** What the builder of a relay refuses. */
class RelaySettingsTest {

    @Test
    void a_wrong_setting_is_refused_by_its_name() {
        Relay.Builder builder = Relay.builder();

        assertThatThrownBy(() -> builder.batchSize(0)).hasMessageContaining("batchSize");
        assertThatThrownBy(() -> builder.batchSize(10_001)).hasMessageContaining("batchSize");
        assertThatThrownBy(() -> builder.pollInterval(Duration.ZERO)).hasMessageContaining("pollInterval");
        assertThatThrownBy(() -> builder.lease(Duration.ofDays(366))).hasMessageContaining("lease");
        assertThatThrownBy(() -> builder.maxAttempts(0)).hasMessageContaining("maxAttempts");
        assertThatThrownBy(() -> builder.dispatchTimeout(Duration.ofNanos(1))).hasMessageContaining("dispatchTimeout");
        assertThatThrownBy(() -> builder.workers(0)).hasMessageContaining("workers");
        assertThatThrownBy(() -> builder.lastErrorMaxBytes(0)).hasMessageContaining("lastErrorMaxBytes");
        assertThatThrownBy(() -> builder.drainTimeout(Duration.ofMillis(-1))).hasMessageContaining("drainTimeout");
        assertThatThrownBy(() -> builder.purgeInterval(Duration.ZERO)).hasMessageContaining("purgeInterval");
        assertThatThrownBy(() -> builder.retention(Duration.ofMillis(-1))).hasMessageContaining("retention");
        assertThatThrownBy(() -> builder.deadRetention(Duration.ofMillis(-1))).hasMessageContaining("deadRetention");
    }

    @Test
    void a_dead_retention_of_zero_is_refused_with_the_way_to_switch_it_off() {
        assertThatThrownBy(() -> Relay.builder().deadRetention(Duration.ZERO))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("deadRetention")
                .hasMessageContaining("Leave it out to keep them");
    }

    @Test
    void what_is_missing_or_given_twice_is_refused() {
        Relay.Builder builder = Relay.builder();
        assertThatThrownBy(builder::build).hasMessageContaining("connectionProvider is required");
        builder.connectionProvider(() -> {
            throw new SQLException("not in this test");
        });
        assertThatThrownBy(builder::build).hasMessageContaining("eventStore is required");
        builder.dispatcher(message -> {});
        assertThatThrownBy(() -> builder.listener(event -> {})).hasMessageContaining("one dispatcher or listener");
    }

    @Test
    void a_store_without_claims_is_refused() {
        assertThatThrownBy(() -> Relay.builder().eventStore(new MemoryEventStore()))
                .hasMessageContaining("LeasingEventStore");
    }
}
