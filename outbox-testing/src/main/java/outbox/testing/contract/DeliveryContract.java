package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.Experimental;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;

import static org.junit.jupiter.api.Assertions.fail;

/**
 * Contract test for the whole engine. It delivers ten thousand events with random priorities, delays, failures,
 * duplicates and rolled-back transactions, and compares the result with a small model ({@link DeliveryPlan}). A plan
 * that fails is shortened as far as time allows. {@code -Doutbox.delivery.seed} repeats a run;
 * {@code -Doutbox.delivery.events} sets the number of events. The store must support keys and priorities.
 */
@Experimental
@Timeout(value = 400, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class DeliveryContract {

    private static final int EVENTS = Integer.getInteger("outbox.delivery.events", 10_000);
    private static final Duration SILENCE = Duration.ofSeconds(30);
    private static final Duration SHORTENING = Duration.ofSeconds(150);

    /** Returns a new, empty table with its store. */
    protected abstract StoreFixture createFixture() throws SQLException;

    @Test
    void what_was_written_is_delivered_as_the_model_says() throws SQLException {
        long seed = Long.getLong("outbox.delivery.seed", System.nanoTime());
        System.out.println(getClass().getSimpleName() + ": " + EVENTS + " events with -Doutbox.delivery.seed=" + seed);
        Random random = new Random(seed);
        List<DeliveryPlan.Step> steps = Stream.generate(() -> DeliveryPlan.Step.random(random))
                .limit(EVENTS)
                .toList();

        Optional<String> difference = new DeliveryCheck(this::createFixture, SILENCE, SHORTENING).difference(steps);

        difference.ifPresent(what -> fail("-Doutbox.delivery.seed=" + seed + " " + what));
    }
}
