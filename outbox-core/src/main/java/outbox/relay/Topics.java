package outbox.relay;

import outbox.InvalidEventException;
import outbox.internal.EventRules;

import java.util.regex.Pattern;

/** The rule for topics, the stable keys by which events find their receivers. A change that old receivers do not understand takes the next number. */
public final class Topics {

    /** The rule in words. */
    public static final String RULE =
            "<module>.<aggregate>.<event>.vN, lower case, of a-z, 0-9 and '-', less than 128 characters, as in org.organization.created.v1";

    private static final int MAX_LENGTH = 127;
    private static final Pattern VALID = Pattern.compile("([a-z0-9-]+\\.){3}v[1-9][0-9]*");

    private Topics() {}

    /**
     * The topic itself.
     *
     * @throws InvalidEventException if it breaks the rule, which the message shows
     */
    public static String check(String topic) {
        if (topic.length() > MAX_LENGTH || !VALID.matcher(topic).matches()) {
            throw new InvalidEventException("Topic " + EventRules.show(topic) + " is not of the form " + RULE);
        }
        return topic;
    }
}
