package outbox.http;

import outbox.internal.text.PrintableText;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * The text of a response for {@code last_error}: its first characters on one line, without quotations of the payload.
 *
 * <p>A receiver that refuses an event often sends it back, reformatted or escaped. So only letters and digits are
 * compared, and long common sequences are removed. Short values, such as a single name, are not recognised.
 */
final class AnswerText {

    static final int MAX_LENGTH = 500;
    static final String LEFT_OUT = "[payload]";

    private static final int WINDOW =
            12; // compared at every WINDOW-th position, so any common run of 2 * WINDOW characters is found

    private AnswerText() {}

    /**
     * Removes the credentials that the request had in these headers, after the scheme, because a receiver may quote
     * them.
     */
    static String of(byte[] answer, String payload, List<String> authorization) {
        String text = new String(answer, StandardCharsets.UTF_8); // invalid UTF-8 becomes replacement characters
        for (String value : authorization) {
            text = text.replace(value.substring(value.indexOf(' ') + 1), "[credentials]");
        }
        return of(text, payload);
    }

    static String of(String answer, String payload) {
        String text = oneLine(answer);
        // longer than the result, because the cut may split a quotation
        String withoutPayload = withoutPayload(cut(text, 2 * MAX_LENGTH), payload);
        String shown = cut(PrintableText.of(withoutPayload), MAX_LENGTH);
        return text.length() > MAX_LENGTH ? shown + "…" : shown;
    }

    private static String oneLine(String text) {
        StringBuilder line = new StringBuilder(text.length());
        text.codePoints().map(c -> Character.isWhitespace(c) ? ' ' : c).forEach(line::appendCodePoint);
        return line.toString().replaceAll(" +", " ").strip();
    }

    private static String cut(String text, int length) {
        if (text.length() <= length) {
            return text;
        }
        boolean splitsPair = Character.isHighSurrogate(text.charAt(length - 1));
        return text.substring(0, splitsPair ? length - 1 : length);
    }

    private static String withoutPayload(String text, String payload) {
        int[] places = placesOfLetters(text);
        String letters = letters(text, places);
        String hidden = letters(payload, placesOfLetters(payload));
        boolean[] quoted = new boolean[text.length()];
        for (int from = 0; from + WINDOW <= letters.length(); from += WINDOW) {
            int found = hidden.indexOf(letters.substring(from, from + WINDOW));
            if (found >= 0) {
                int start = from;
                for (int at = found; start > 0 && at > 0 && letters.charAt(start - 1) == hidden.charAt(at - 1); at--) {
                    start--;
                }
                int end = from + WINDOW;
                for (int at = found + WINDOW;
                        end < letters.length() && at < hidden.length() && letters.charAt(end) == hidden.charAt(at);
                        at++) {
                    end++;
                }
                Arrays.fill(quoted, places[start], places[end - 1] + 1, true);
            }
        }
        return leavingOut(text, quoted);
    }

    private static String leavingOut(String text, boolean[] quoted) {
        StringBuilder shown = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            if (!quoted[i]) {
                shown.append(text.charAt(i));
            } else if (i == 0 || !quoted[i - 1]) {
                shown.append(LEFT_OUT);
            }
        }
        return shown.toString();
    }

    private static int[] placesOfLetters(String text) {
        int[] places = new int[text.length()];
        int count = 0;
        for (int i = 0; i < text.length(); i++) {
            if (Character.isLetterOrDigit(text.charAt(i))) {
                places[count++] = i;
            }
        }
        return Arrays.copyOf(places, count);
    }

    private static String letters(String text, int[] places) {
        StringBuilder letters = new StringBuilder(places.length);
        for (int place : places) {
            letters.append(text.charAt(place));
        }
        return letters.toString();
    }
}
