package outbox.cli;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Finds passwords in a JDBC URL in all forms that drivers accept: {@code ?password=}, {@code ;PASSWORD=} of H2,
 * {@code (password=…)} and {@code user:password@host} of MySQL, and each of them percent-encoded. Drivers quote URLs
 * or parts of them in messages, so a URL must not contain a password.
 */
final class UrlPasswords {

    private static final String NAME = "[\\w.-]*(?:password|passwd|pwd)\\d*";
    private static final Pattern PARAMETER = Pattern.compile("(?i)[?&;,(\\s](" + NAME + ")\\s*=\\s*([^&;,)]*)");
    private static final Pattern LOGIN_NAME = Pattern.compile("(?i)(?:password|passwd|pwd)\\d*");
    // an @ in a parameter does not end user info
    private static final String NO_PARAMETER = "(?:(?![?&;(][\\w.-]+=).)*";
    private static final Pattern USER_INFO = Pattern.compile("//" + NO_PARAMETER + "?:(" + NO_PARAMETER + ")@");

    private static final int SHORTEST_PART = 3; // hiding shorter texts would make messages unreadable

    private UrlPasswords() {}

    /** Whether the URL contains a password of a user or of a key store. */
    static boolean hasAny(String url) {
        return hasLogin(url)
                || readings(url).stream()
                        .anyMatch(text -> PARAMETER.matcher(text).find());
    }

    /** Whether the URL contains the password of a database user. */
    static boolean hasLogin(String url) {
        for (String text : readings(url)) {
            if (USER_INFO.matcher(text).find()
                    || PARAMETER
                            .matcher(text)
                            .results()
                            .anyMatch(
                                    found -> LOGIN_NAME.matcher(found.group(1)).matches())) {
                return true;
            }
        }
        return false;
    }

    /** The passwords in the URL, as written and decoded. */
    static Set<String> values(String url) {
        Set<String> values = new LinkedHashSet<>();
        for (String text : readings(url)) {
            PARAMETER.matcher(text).results().forEach(found -> values.addAll(readings(found.group(2))));
            USER_INFO.matcher(text).results().forEach(found -> addParts(values, found.group(1)));
        }
        values.removeIf(String::isBlank);
        return values;
    }

    /** Adds the password and the parts into which a driver may split it. */
    private static void addParts(Set<String> values, String userInfo) {
        values.addAll(readings(userInfo));
        Arrays.stream(userInfo.split("[/?#:@,;&=]", -1))
                .filter(part -> part.length() >= SHORTEST_PART)
                .forEach(values::add);
    }

    /** The text as it is, percent-decoded once, and percent-decoded twice. */
    private static Set<String> readings(String text) {
        Set<String> readings = new LinkedHashSet<>();
        String reading = text;
        for (int i = 0; i < 3 && readings.add(reading); i++) {
            reading = decoded(reading);
        }
        return readings;
    }

    private static String decoded(String text) {
        try {
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            return text; // the percent sign is literal
        }
    }
}
