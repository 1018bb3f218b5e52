package outbox.cli.doctor;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/**
 * Quotes data from the database for a command that a user may paste: the data stays one shell word or one SQL
 * literal.
 */
public final class Quoted {

    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_.][A-Za-z0-9_.:,/%+=-]*");
    private static final Pattern UNSEEN = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]");
    private static final int LONGEST = 300;

    private Quoted() {}

    /** Whether a command can contain this text and stay readable. */
    static boolean isUsable(String text) {
        return !text.isBlank() && text.length() <= LONGEST && text.indexOf('\0') < 0;
    }

    /** One word for bash, zsh and similar shells. Characters that are not printable are escaped. */
    public static String shell(String text) {
        if (PLAIN.matcher(text).matches()) {
            return text;
        }
        if (!UNSEEN.matcher(text).find()) {
            return "'" + text.replace("'", "'\\''") + "'";
        }
        StringBuilder word = new StringBuilder("$'");
        text.codePoints().forEach(c -> {
            String character = Character.toString(c);
            if (UNSEEN.matcher(character).matches()) {
                for (byte b : character.getBytes(StandardCharsets.UTF_8)) {
                    word.append("\\x%02x".formatted(b & 0xff)); // not \\u: its meaning depends on the locale
                }
            } else {
                word.append(c == '\'' || c == '\\' ? "\\" + character : character);
            }
        });
        return word.append("'").toString();
    }

    /** An SQL literal. */
    static String literal(String text, boolean isMySql) {
        boolean isSeen = !UNSEEN.matcher(text).find();
        if (isMySql) {
            return isSeen
                    ? "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
                    : "CONVERT(x'" + hex(text) + "' USING utf8mb4)";
        }
        return isSeen
                ? "'" + text.replace("'", "''") + "'"
                : "U&'" + escaped(text).replace("'", "''") + "'";
    }

    /** An SQL identifier. */
    static String identifier(String text, boolean isMySql) {
        if (isMySql) {
            return "`" + text.replace("`", "``") + "`";
        }
        return UNSEEN.matcher(text).find()
                ? "U&\"" + escaped(text).replace("\"", "\"\"") + "\""
                : "\"" + text.replace("\"", "\"\"") + "\"";
    }

    private static String hex(String text) {
        StringBuilder digits = new StringBuilder();
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            digits.append("%02x".formatted(b & 0xff));
        }
        return digits.toString();
    }

    private static String escaped(String text) {
        StringBuilder escaped = new StringBuilder();
        text.codePoints().forEach(c -> {
            String character = Character.toString(c);
            if (c == '\\') {
                escaped.append("\\\\");
            } else if (UNSEEN.matcher(character).matches()) {
                escaped.append("\\+%06x".formatted(c));
            } else {
                escaped.append(character);
            }
        });
        return escaped.toString();
    }

    /** Data within a sentence: on one line, shortened to the given length. */
    static String shown(String text, int longest) {
        String line = UNSEEN.matcher(text).replaceAll(" ").strip();
        return line.length() <= longest ? line : line.substring(0, longest) + "…";
    }
}
