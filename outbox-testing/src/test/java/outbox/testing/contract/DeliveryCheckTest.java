package outbox.testing.contract;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.ForwardingEventStore;
import outbox.spi.LeasingEventStore;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;

/** That the check finds what it is for. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DeliveryCheckTest {

    private static DeliveryPlan.Step step(int priority, @Nullable String key, boolean isLater) {
        return new DeliveryPlan.Step(priority, 0, 0, key, true, isLater, false);
    }

    @Test
    void an_event_that_never_comes_is_told_in_a_plan_of_its_own() throws SQLException {
        List<DeliveryPlan.Step> steps =
                IntStream.range(4, 8).mapToObj(i -> step(i, null, false)).toList();

        assertThat(new DeliveryCheck(DeliveryCheckTest::losing, Duration.ofSeconds(3), Duration.ofSeconds(40))
                        .difference(steps))
                .hasValueSatisfying(what -> assertThat(what)
                        .startsWith("with 1 events: not all events ended; ")
                        .contains("expected 1 runs but there were 0")
                        .contains("priority=5"));
    }

    /** What it claims of priority 5 gets lost on the way. */
    private static StoreFixture losing() {
        StoreFixture db = MemoryFixture.create();
        LeasingEventStore losing = new ForwardingEventStore(db.store()) {
            @Override
            public List<ClaimedEvent> claim(Connection conn, Claim claim, ClaimRequest request) {
                return super.claim(conn, claim, request).stream()
                        .filter(claimed -> claimed.event().priority() != 5)
                        .toList();
            }
        };
        return new StoreFixture(db.dataSource(), losing, db.table(), db.zonedTimes(), db.rows());
    }

    @Test
    void keys_that_are_kept_and_keys_that_are_free_again_are_told_apart() throws SQLException {
        List<DeliveryPlan.Step> steps = List.of(
                step(0, "kept", false),
                new DeliveryPlan.Step(0, 0, 0, "free", false, false, false),
                new DeliveryPlan.Step(0, 0, DeliveryCheck.MAX_ATTEMPTS, "of a dead one", true, false, false),
                step(0, "kept", true),
                step(0, "free", true),
                step(0, "of a dead one", true));

        assertThat(new DeliveryCheck(MemoryFixture::create, Duration.ofSeconds(10), Duration.ofSeconds(10))
                        .difference(steps))
                .isEmpty();
    }
}
