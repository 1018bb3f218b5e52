package outbox.jdbc.internal.sql;

import outbox.EventEnvelope;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiPredicate;

/** Groups of events, one group per INSERT, bounded in number (bind parameters) and in bytes (packet size). */
public final class InsertBatches {

    private static final int MAX_ROWS = 500;
    private static final int MAX_BYTES = 4 << 20;

    private InsertBatches() {}

    /**
     * Splits events into batches.
     *
     * @param alike whether two successive events can be inserted by one statement
     */
    public static List<List<EventEnvelope>> of(
            List<EventEnvelope> events, BiPredicate<EventEnvelope, EventEnvelope> alike) {
        List<List<EventEnvelope>> batches = new ArrayList<>();
        int start = 0;
        long bytes = 0;
        for (int i = 0; i < events.size(); i++) {
            long size = sizeOf(events.get(i));
            if (i > start
                    && (bytes + size > MAX_BYTES
                            || i - start == MAX_ROWS
                            || !alike.test(events.get(i - 1), events.get(i)))) {
                batches.add(events.subList(start, i));
                start = i;
                bytes = 0;
            }
            bytes += size;
        }
        if (!events.isEmpty()) {
            batches.add(events.subList(start, events.size()));
        }
        return batches;
    }

    /** Estimates how many bytes the event adds to the statement. A UTF-16 character takes at most three bytes. */
    private static long sizeOf(EventEnvelope event) {
        long headers = event.headers().entrySet().stream()
                .mapToLong(
                        header -> header.getKey().length() + header.getValue().length())
                .sum();
        return event.payloadSize() + 3 * headers;
    }

    /** Whether a text column can hold the bytes. */
    public static boolean isText(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .chars()
                    .noneMatch(c -> c == 0);
        } catch (CharacterCodingException e) {
            return false;
        }
    }
}
