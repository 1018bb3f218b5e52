package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.internal.EventRules;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * A short hash of an error without the parts that differ between events: identifiers, numbers and quoted values.
 * Errors with the same cause have the same fingerprint, as far as their texts allow. Only the start of the error
 * that a list shows is used.
 */
final class ErrorFingerprint {

    private static final Pattern QUOTED = Pattern.compile("'[^']*'|\"[^\"]*\"");
    private static final Pattern IDENTIFIER =
            Pattern.compile("\\b(?=[0-9A-Za-z-]*[0-9])[0-9A-Za-z][0-9A-Za-z-]{7,}\\b");
    private static final Pattern NUMBER = Pattern.compile("[0-9]+");
    private static final Pattern UNFINISHED_QUOTE = Pattern.compile("['\"].*$", Pattern.DOTALL);
    private static final Pattern VALID = Pattern.compile("[0-9a-f]{12}");
    private static final int BYTES = 6;
    private static final int LENGTH = 120;

    private ErrorFingerprint() {}

    static String of(@Nullable String errorStart) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256")
                    .digest(pattern(errorStart).getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(hash, 0, BYTES);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every Java platform supports SHA-256
        }
    }

    /**
     * Replaces the variable parts of the error and truncates it, because the end of an already truncated
     * text varies.
     */
    static String pattern(@Nullable String errorStart) {
        String text = errorStart == null ? "" : errorStart.strip();
        text = QUOTED.matcher(text).replaceAll("\u2026");
        text = UNFINISHED_QUOTE.matcher(text).replaceAll("\u2026");
        text = IDENTIFIER.matcher(text).replaceAll("#");
        text = NUMBER.matcher(text).replaceAll("#");
        return text.substring(0, Math.min(text.length(), LENGTH));
    }

    static String check(String fingerprint) {
        if (!VALID.matcher(fingerprint).matches()) {
            throw new IllegalArgumentException("errorFingerprint must be 12 digits from 0 to f, as a list of errors"
                    + " shows it, not " + EventRules.show(fingerprint));
        }
        return fingerprint;
    }
}
