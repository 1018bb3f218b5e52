package outbox.internal.text;

/**
 * Makes untrusted text safe to print. Ids, types, headers and errors of events come from anyone who can write to the
 * table or respond to a request. If they were printed unchanged, a line break could forge a log line, an escape
 * sequence could control the terminal, and a bidirectional control character could change how the text reads. Log,
 * terminal and JSON output all use this class.
 *
 * <p>Not printable are control characters (C0 and C1), format characters (including all that change the text
 * direction), line and paragraph separators, and unpaired surrogates.
 */
public final class PrintableText {

    private static final String ELLIPSIS = "…";

    private PrintableText() {}

    /**
     * Returns the text on one line. Unprintable characters become a visible escape, such as {@code \n} or
     * <code>&#92;u001b</code>. Returns the same object if nothing changes.
     */
    public static String of(String text) {
        int first = firstUnprintable(text, false);
        if (first < 0) {
            return text;
        }
        StringBuilder line = new StringBuilder(text.length() + 16).append(text, 0, first);
        for (int i = first; i < text.length(); ) {
            int c = text.codePointAt(i);
            if (isPrintable(c)) {
                line.appendCodePoint(c);
            } else {
                escape(line, c);
            }
            i += Character.charCount(c);
        }
        return line.toString();
    }

    /**
     * Like {@link #of}, but limited to this number of characters. A longer text ends with an ellipsis. The text is
     * never cut inside a surrogate pair.
     */
    public static String of(String text, int maxLength) {
        if (text.length() <= maxLength) {
            String line = of(text);
            return line.length() <= maxLength ? line : cut(line, maxLength);
        }
        return cut(of(text.substring(0, maxLength + 1)), maxLength);
    }

    /**
     * Returns equivalent valid JSON in which all unprintable non-ASCII characters are JSON escapes. ASCII
     * control characters need no change: valid JSON already escapes them in strings, and between values they are
     * white space.
     */
    public static String ofJson(String json) {
        int first = firstUnprintable(json, true);
        if (first < 0) {
            return json;
        }
        StringBuilder safe = new StringBuilder(json.length() + 16).append(json, 0, first);
        for (int i = first; i < json.length(); ) {
            int c = json.codePointAt(i);
            if (c < 0x7f || isPrintable(c)) {
                safe.appendCodePoint(c);
            } else {
                unicode(safe, c);
            }
            i += Character.charCount(c);
        }
        return safe.toString();
    }

    /** Whether the character is safe to print within a line. */
    public static boolean isPrintable(int codePoint) {
        return switch (Character.getType(codePoint)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.SURROGATE -> false;
            default -> true;
        };
    }

    private static int firstUnprintable(String text, boolean beyondAscii) {
        for (int i = 0; i < text.length(); ) {
            int c = text.codePointAt(i);
            if (!isPrintable(c) && !(beyondAscii && c < 0x7f)) {
                return i;
            }
            i += Character.charCount(c);
        }
        return -1;
    }

    private static String cut(String line, int maxLength) {
        int end = Math.max(0, maxLength - ELLIPSIS.length());
        boolean splitsPair = end > 0 && Character.isHighSurrogate(line.charAt(end - 1));
        return line.substring(0, splitsPair ? end - 1 : end) + ELLIPSIS;
    }

    private static void escape(StringBuilder line, int c) {
        switch (c) {
            case '\n' -> line.append("\\n");
            case '\r' -> line.append("\\r");
            case '\t' -> line.append("\\t");
            default -> unicode(line, c);
        }
    }

    private static void unicode(StringBuilder line, int c) {
        for (char unit : Character.toChars(c)) {
            line.append("\\u");
            for (int shift = 12; shift >= 0; shift -= 4) {
                line.append(Character.forDigit(unit >> shift & 0xf, 16));
            }
        }
    }
}
