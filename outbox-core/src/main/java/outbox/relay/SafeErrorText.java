package outbox.relay;

import outbox.EventEnvelope;
import outbox.spi.ErrorText;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;

/**
 * What a relay keeps of a failure: cut to a number of bytes, and without the payload, which a receiver may have put into its message, as a whole or in parts. A part is recognised
 * from {@value #RUN} characters on; what is shorter and no payload of its own says little.
 */
final class SafeErrorText implements BiFunction<EventEnvelope, Throwable, String> {

    static final String HIDDEN = "[payload]";

    private static final int RUN = 16;
    private static final int TRIVIAL = 2; // such as {}

    private final int maxBytes;

    SafeErrorText(int maxBytes) {
        this.maxBytes = maxBytes;
    }

    @Override
    public String apply(EventEnvelope event, Throwable failure) {
        return cut(hide(ErrorText.of(failure), event.payloadJson().strip()), maxBytes);
    }

    /** On a character boundary of UTF-8. */
    static String cut(String text, int maxBytes) {
        int bytes = 0;
        for (int i = 0; i < text.length(); ) {
            int c = text.codePointAt(i);
            bytes += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
            if (bytes > maxBytes) {
                return text.substring(0, i);
            }
            i += Character.charCount(c);
        }
        return text;
    }

    static String hide(String text, String payload) {
        if (payload.length() <= TRIVIAL) {
            return text;
        }
        int run = Math.min(RUN, payload.length());
        boolean[] hidden = shared(text, payload, run);
        StringBuilder safe = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            if (!hidden[i]) {
                safe.append(text.charAt(i));
            } else if (i == 0 || !hidden[i - 1]) {
                safe.append(HIDDEN);
            }
        }
        return safe.toString();
    }

    /** Which characters of the text belong to a run that the payload has too. One pass over the payload, however large: the text is short. */
    private static boolean[] shared(String text, String payload, int run) {
        Map<String, List<Integer>> starts = new HashMap<>();
        for (int i = 0; i + run <= text.length(); i++) {
            starts.computeIfAbsent(text.substring(i, i + run), any -> new ArrayList<>())
                    .add(i);
        }
        boolean[] shared = new boolean[text.length()];
        if (starts.isEmpty()) {
            return shared;
        }
        for (int i = 0; i + run <= payload.length(); i++) {
            for (int start : starts.getOrDefault(payload.substring(i, i + run), List.of())) {
                Arrays.fill(shared, start, start + run, true);
            }
        }
        return shared;
    }
}
