package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.util.List;

/** The result of a search: the events to write, and where the next search begins. Immutable. */
public final class Found {

    /** Maximum length of a checkpoint, in characters. */
    public static final int MAX_CHECKPOINT_LENGTH = 512;

    private final List<EventEnvelope> events;
    private final @Nullable String checkpoint;
    private final boolean more;

    private Found(List<EventEnvelope> events, @Nullable String checkpoint, boolean more) {
        this.events = List.copyOf(events);
        this.checkpoint = checkpoint;
        this.more = more;
    }

    /** Returns a result after which there may be more facts. The checkpoint must differ from that of the search. */
    public static Found more(List<EventEnvelope> events, String checkpoint) {
        return new Found(events, check(checkpoint), true);
    }

    /** Returns the last result of the window. The next run begins at the start of its own window. */
    public static Found last(List<EventEnvelope> events) {
        return new Found(events, null, false);
    }

    /**
     * Returns the last result for now. The next run continues at the checkpoint. For facts that never need a
     * second check.
     */
    public static Found last(List<EventEnvelope> events, String checkpoint) {
        return new Found(events, check(checkpoint), false);
    }

    private static String check(String checkpoint) {
        if (checkpoint.isEmpty()
                || checkpoint.length() > MAX_CHECKPOINT_LENGTH
                || checkpoint
                        .codePoints()
                        .anyMatch(c -> Character.isISOControl(c) || Character.getType(c) == Character.SURROGATE)) {
            throw new IllegalArgumentException("A checkpoint must have 1 to " + MAX_CHECKPOINT_LENGTH
                    + " characters, without control characters and lone surrogates");
        }
        return checkpoint;
    }

    public List<EventEnvelope> events() {
        return events;
    }

    /** Returns null if the next search begins at the start of the window. */
    public @Nullable String checkpoint() {
        return checkpoint;
    }

    public boolean hasMore() {
        return more;
    }
}
