package outbox.relay;

import outbox.EventEnvelope;
import outbox.spi.ErrorText;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.stream.IntStream;

/**
 * What a relay keeps of a failure: cut to a number of bytes, and without the payload, which a receiver may have put into its message, as a whole or in parts, compact, pretty-printed or
 * escaped. So white space, quotes and backslashes are not compared. A part is recognised from {@value #RUN} other characters on; what is shorter and no payload of its own says little.
 */
final class SafeErrorText implements BiFunction<EventEnvelope, Throwable, String> {

    static final String HIDDEN = "[payload]";

    private static final int RUN = 12;
    private static final int TRIVIAL = 2; // such as {} or "no"

    private final int maxBytes;

    SafeErrorText(int maxBytes) {
        this.maxBytes = maxBytes;
    }

    @Override
    public String apply(EventEnvelope event, Throwable failure) {
        return cut(hide(ErrorText.of(failure), event.payloadJson()), maxBytes);
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
        String secret = compared(payload, places(payload));
        if (secret.length() <= TRIVIAL) {
            return text;
        }
        boolean[] hidden = shared(text, secret, Math.min(RUN, secret.length()));
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
    private static boolean[] shared(String text, String secret, int run) {
        int[] places = places(text);
        String compared = compared(text, places);
        Map<String, List<Integer>> starts = new HashMap<>();
        for (int i = 0; i + run <= compared.length(); i++) {
            starts.computeIfAbsent(compared.substring(i, i + run), any -> new ArrayList<>())
                    .add(i);
        }
        boolean[] shared = new boolean[text.length()];
        if (starts.isEmpty()) {
            return shared;
        }
        for (int i = 0; i + run <= secret.length(); i++) {
            for (int start : starts.getOrDefault(secret.substring(i, i + run), List.of())) {
                Arrays.fill(shared, places[start], places[start + run - 1] + 1, true);
            }
        }
        addQuotes(text, shared);
        return shared;
    }

    /** Those around a run belong to it. */
    private static void addQuotes(String text, boolean[] shared) {
        for (int i = 1; i < shared.length; i++) {
            shared[i] |= shared[i - 1] && isQuote(text.charAt(i));
        }
        for (int i = shared.length - 2; i >= 0; i--) {
            shared[i] |= shared[i + 1] && isQuote(text.charAt(i));
        }
    }

    /** Where the characters are that count. */
    private static int[] places(String text) {
        return IntStream.range(0, text.length())
                .filter(i -> !isQuote(text.charAt(i)) && !Character.isWhitespace(text.charAt(i)))
                .toArray();
    }

    private static boolean isQuote(char c) {
        return c == '"' || c == '\\';
    }

    private static String compared(String text, int[] places) {
        StringBuilder compared = new StringBuilder(places.length);
        for (int place : places) {
            compared.append(text.charAt(place));
        }
        return compared.toString();
    }
}
