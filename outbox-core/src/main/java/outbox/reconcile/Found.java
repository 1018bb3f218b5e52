package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.util.List;

/** What a job found: the events to write, and where the next look begins. Immutable. */
public final class Found {

    /** Longest checkpoint, in characters. */
    public static final int MAX_CHECKPOINT_LENGTH = 512;

    private final List<EventEnvelope> events;
    private final @Nullable String checkpoint;
    private final boolean more;

    private Found(List<EventEnvelope> events, @Nullable String checkpoint, boolean more) {
        this.events = List.copyOf(events);
        this.checkpoint = checkpoint;
        this.more = more;
    }

    /** There may be more behind the checkpoint, which must differ from that of the search. */
    public static Found more(List<EventEnvelope> events, String checkpoint) {
        return new Found(events, check(checkpoint), true);
    }

    /** These are the last of the window. The next run begins anew, with the window of then. */
    public static Found last(List<EventEnvelope> events) {
        return new Found(events, null, false);
    }

    /** These are the last for now; the next run goes on at the checkpoint. For facts that never need a second look. */
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

    /** Null if the next look begins anew. */
    public @Nullable String checkpoint() {
        return checkpoint;
    }

    public boolean hasMore() {
        return more;
    }
}
