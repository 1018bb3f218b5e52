package outbox.testing.contract;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.Experimental;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import static org.junit.jupiter.api.Assertions.fail;

/**
 * Contract test that runs random sequences of writes, delays, cancellations, replacements, failures, crashes,
 * replays and pauses on the store and on a small model, and compares the results. A sequence that fails is shortened
 * as far as possible. {@code -Doutbox.model.seed} repeats a run; {@code -Doutbox.model.steps} sets the number of
 * steps (default 10,000). The store must have all capabilities and a table for pauses.
 */
@Experimental
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class ModelContract {

    private static final int STEPS = Integer.getInteger("outbox.model.steps", 10_000);
    private static final int SEQUENCE = 250; // each sequence starts with an empty table
    private static final int MAX_SHORTENINGS = 400;

    /** Returns a new, empty table with its store. */
    protected abstract StoreFixture createFixture() throws SQLException;

    @Test
    void the_store_does_what_the_model_does() throws SQLException {
        long seed = Long.getLong("outbox.model.seed", System.nanoTime());
        System.out.println(getClass().getSimpleName() + ": " + STEPS + " steps with -Doutbox.model.seed=" + seed);
        StoreFixture db = createFixture();
        Random random = new Random(seed);
        for (int taken = 0; taken < STEPS; taken += SEQUENCE) {
            List<ModelStep> steps = Stream.generate(() -> ModelStep.random(random))
                    .limit(SEQUENCE)
                    .toList();
            boolean ordered = taken / SEQUENCE % 2 == 0;
            Optional<Difference> difference = firstDifference(db, steps, ordered);
            if (difference.isPresent()) {
                report(seed, ordered, shortened(db, steps, ordered, difference.get()));
            }
        }
    }

    /** A difference, and the steps that lead to it. */
    private record Difference(List<ModelStep> steps, String what) {}

    private static Optional<Difference> firstDifference(StoreFixture db, List<ModelStep> steps, boolean ordered) {
        ModelRun run = new ModelRun(db, ordered);
        for (int i = 0; i < steps.size(); i++) {
            String difference = outcomeOf(run, steps.get(i));
            if (difference != null) {
                return Optional.of(new Difference(List.copyOf(steps.subList(0, i + 1)), difference));
            }
        }
        return Optional.ofNullable(run.look()).map(what -> new Difference(steps, what));
    }

    private static @Nullable String outcomeOf(ModelRun run, ModelStep step) {
        try {
            return run.take(step);
        } catch (RuntimeException e) {
            return step.kind() + " failed: " + e;
        }
    }

    /** Removes parts of the sequence, from halves down to single steps, as long as the result still differs. */
    private static Difference shortened(StoreFixture db, List<ModelStep> steps, boolean ordered, Difference first) {
        Difference shortest = first;
        int left = MAX_SHORTENINGS;
        for (int part = Math.max(1, steps.size() / 2); part >= 1 && left > 0; part /= 2) {
            for (int from = 0; from < shortest.steps().size() && left > 0; left--) {
                List<ModelStep> fewer = new ArrayList<>(shortest.steps());
                fewer.subList(from, Math.min(from + part, fewer.size())).clear();
                Optional<Difference> difference = firstDifference(db, fewer, ordered);
                if (difference.isPresent()) {
                    shortest = difference.get();
                } else {
                    from += part;
                }
            }
        }
        return Objects.requireNonNull(shortest);
    }

    private static void report(long seed, boolean ordered, Difference difference) {
        fail("Seed " + seed + ", " + (ordered ? "in order" : "in no order") + ", after "
                + difference.steps().size()
                + " steps, "
                + difference.what() + "\n"
                + difference.steps().stream().map(step -> "    " + step).collect(Collectors.joining("\n")));
    }
}
