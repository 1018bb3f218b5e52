package outbox.memory;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.logging.Level;
import java.util.logging.Logger;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Two engines on one store, each a dispatcher, a poller and a purge, run turn by turn on the thread of the test.
 * Engines crash, stall and close; databases fail; listeners fail and are slow. {@link SimulatedEngines} checks every
 * delivery.
 *
 * <p>A failure names its seed. To run one seed, call {@code new SimulatedEngines(seed, mode).run()}.
 */
class SimulatedEnginesTest {

    private static final int SEEDS = 200;
    private static final int SEEDS_TWICE = 20;

    private final Logger log = Logger.getLogger("outbox");
    private final @Nullable Level level = log.getLevel();

    @BeforeEach
    void logNothing() {
        log.setLevel(Level.OFF); // each outage would log its failures with their stack traces
    }

    @AfterEach
    void logAgain() {
        log.setLevel(level);
    }

    @ParameterizedTest
    @EnumSource
    void every_event_is_delivered_and_each_duplicate_follows_an_outage(SimulatedEngines.Mode mode) {
        for (long seed = 0; seed < SEEDS; seed++) {
            new SimulatedEngines(seed, mode).run();
        }
    }

    @Test
    void the_same_seed_gives_the_same_history() {
        for (long seed = 0; seed < SEEDS_TWICE; seed++) {
            for (SimulatedEngines.Mode mode : SimulatedEngines.Mode.values()) {
                assertThat(new SimulatedEngines(seed, mode).run())
                        .as("seed %d, %s", seed, mode)
                        .isEqualTo(new SimulatedEngines(seed, mode).run());
            }
        }
    }
}
