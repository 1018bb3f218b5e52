package outbox.cli;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Finds passwords in a JDBC URL, in all the forms that drivers take: {@code ?password=}, {@code ;PASSWORD=} of H2,
 * {@code (password=…)} and {@code user:password@host} of MySQL, and each of them percent-encoded. Drivers quote URLs,
 * or parts of them, in their messages; so a URL must not hold one.
 */
final class UrlPasswords {

    private static final String NAME = "[\\w.-]*(?:password|passwd|pwd)\\d*";
    private static final Pattern PARAMETER = Pattern.compile("(?i)[?&;,(\\s](" + NAME + ")\\s*=\\s*([^&;,)]*)");
    private static final Pattern LOGIN_NAME = Pattern.compile("(?i)(?:password|passwd|pwd)\\d*");
    private static final String NO_PARAMETER = "(?:(?![?&;(][\\w.-]+=).)*"; // an @ in a parameter is no user info
    private static final Pattern USER_INFO = Pattern.compile("//" + NO_PARAMETER + "?:(" + NO_PARAMETER + ")@");

    private static final int SHORTEST_PART = 3; // hiding less would make a message unreadable

    private UrlPasswords() {}

    /** Whether the URL holds a password of any kind, be it that of a user or of a key store. */
    static boolean hasAny(String url) {
        return hasLogin(url)
                || readings(url).stream()
                        .anyMatch(text -> PARAMETER.matcher(text).find());
    }

    /** Whether the URL holds the password of a database user. */
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

    /** The passwords in it, as they stand there and decoded. */
    static Set<String> values(String url) {
        Set<String> values = new LinkedHashSet<>();
        for (String text : readings(url)) {
            PARAMETER.matcher(text).results().forEach(found -> values.addAll(readings(found.group(2))));
            USER_INFO.matcher(text).results().forEach(found -> addParts(values, found.group(1)));
        }
        values.removeIf(String::isBlank);
        return values;
    }

    /** With the parts into which a driver may have split it. */
    private static void addParts(Set<String> values, String userInfo) {
        values.addAll(readings(userInfo));
        Arrays.stream(userInfo.split("[/?#:@,;&=]", -1))
                .filter(part -> part.length() >= SHORTEST_PART)
                .forEach(values::add);
    }

    /** The text, and what it is percent-decoded, once and twice. */
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
            return text; // a percent sign that is itself
        }
    }
}
