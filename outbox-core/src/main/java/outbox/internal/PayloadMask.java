package outbox.internal;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Replaces text in an error message that also occurs in the payload: the whole payload or parts of it, in compact,
 * pretty-printed or escaped form. White space, quotes and backslashes are therefore not compared. A part is detected
 * if it has at least {@value #RUN} compared characters; a shorter payload is detected only as a whole.
 *
 * <p>The payload is read once, from start to end, with a rolling hash and without a copy: a payload may have
 * megabytes, while an error message is short.
 */
public final class PayloadMask {

    /** The replacement for payload text. */
    public static final String HIDDEN = "[payload]";

    private static final int RUN = 12;
    private static final int TRIVIAL = 2; // for example {} or "no"
    private static final int BASE = 0x01000193;
    private static final int FILTER_BITS = 1 << 16;

    private final String text;
    private final int[] places; // positions of the compared characters in the text
    private final int run;
    private final Map<Integer, List<Integer>> starts = new HashMap<>(); // of runs not yet found, by hash
    private final long[] filter = new long[FILTER_BITS / Long.SIZE]; // rejects most positions of a payload quickly
    private final boolean[] hidden;

    private PayloadMask(String text, int run) {
        this.text = text;
        this.run = run;
        hidden = new boolean[text.length()];
        places = new int[text.length()];
        int count = 0;
        for (int i = 0; i < text.length(); i++) {
            if (isCompared(text.charAt(i))) {
                places[count++] = i;
            }
        }
        for (int start = 0; start + run <= count; start++) {
            int hash = 0;
            for (int i = start; i < start + run; i++) {
                hash = hash * BASE + text.charAt(places[i]);
            }
            starts.computeIfAbsent(hash, any -> new ArrayList<>(1)).add(start);
            filter[bit(hash) / Long.SIZE] |= 1L << bit(hash);
        }
    }

    /**
     * Returns the text without the payload.
     *
     * @param known values that may be shown even if the payload contains them, such as the id of the event
     */
    public static String hide(String text, String payload, List<String> known) {
        int run = comparedLength(payload);
        if (run <= TRIVIAL) {
            return text;
        }
        PayloadMask mask = new PayloadMask(text, run);
        if (mask.starts.isEmpty()) {
            return text;
        }
        mask.find(payload);
        mask.addQuotes();
        known.stream().filter(value -> comparedLength(value) == RUN).forEach(mask::show);
        return mask.masked();
    }

    /** Returns the number of compared characters, but at most {@value #RUN}. */
    private static int comparedLength(String text) {
        int count = 0;
        for (int i = 0; i < text.length() && count < RUN; i++) {
            if (isCompared(text.charAt(i))) {
                count++;
            }
        }
        return count;
    }

    private void find(String payload) {
        char[] window = new char[run]; // ring buffer of the last compared characters
        int highest = 1;
        for (int i = 1; i < run; i++) {
            highest *= BASE;
        }
        int hash = 0;
        int seen = 0;
        for (int i = 0; i < payload.length() && !starts.isEmpty(); i++) {
            char c = payload.charAt(i);
            if (isCompared(c)) {
                int at = seen % run;
                hash = (hash - window[at] * highest) * BASE + c;
                window[at] = c;
                seen++;
                if (seen >= run && (filter[bit(hash) / Long.SIZE] & 1L << bit(hash)) != 0) {
                    hide(hash, window, seen % run);
                }
            }
        }
    }

    /** Hides a run. A run that was found is not searched again, so a repetitive payload does not cost more. */
    private void hide(int hash, char[] window, int first) {
        List<Integer> candidates = starts.get(hash);
        if (candidates != null && candidates.removeIf(start -> hideIfEqual(start, window, first))) {
            if (candidates.isEmpty()) {
                starts.remove(hash);
            }
        }
    }

    private boolean hideIfEqual(int start, char[] window, int first) {
        for (int i = 0; i < run; i++) {
            if (text.charAt(places[start + i]) != window[(first + i) % run]) {
                return false;
            }
        }
        Arrays.fill(hidden, places[start], places[start + run - 1] + 1, true);
        return true;
    }

    /** Also hides the quotes around a run. */
    private void addQuotes() {
        for (int i = 1; i < hidden.length; i++) {
            hidden[i] |= hidden[i - 1] && isQuote(text.charAt(i));
        }
        for (int i = hidden.length - 2; i >= 0; i--) {
            hidden[i] |= hidden[i + 1] && isQuote(text.charAt(i));
        }
    }

    /** Shows a value again together with the punctuation around it, which may also belong to the message. */
    private void show(String value) {
        for (int from = text.indexOf(value); from >= 0; from = text.indexOf(value, from + value.length())) {
            int start = from;
            int end = from + value.length();
            while (start > 0 && !Character.isLetterOrDigit(text.charAt(start - 1))) {
                start--;
            }
            while (end < text.length() && !Character.isLetterOrDigit(text.charAt(end))) {
                end++;
            }
            Arrays.fill(hidden, start, end, false);
        }
    }

    private String masked() {
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

    private static int bit(int hash) {
        return (hash ^ hash >>> 16) & FILTER_BITS - 1;
    }

    private static boolean isCompared(char c) {
        return !isQuote(c) && !Character.isWhitespace(c);
    }

    private static boolean isQuote(char c) {
        return c == '"' || c == '\\';
    }
}
