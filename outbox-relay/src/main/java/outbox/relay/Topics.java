package outbox.relay;

import outbox.InvalidEventException;
import outbox.internal.EventRules;

import java.util.regex.Pattern;

/**
 * The rule for topics, the stable names by which events are routed to receivers. A change that old receivers do not
 * understand needs a new version number.
 */
public final class Topics {

    /** The rule as text. */
    public static final String RULE =
            "<module>.<aggregate>.<event>.vN, lower case, of a-z, 0-9 and '-', less than 128 characters, as in "
                    + "org.organization.created.v1";

    private static final int MAX_LENGTH = 127;
    private static final Pattern VALID = Pattern.compile("([a-z0-9-]+\\.){3}v[1-9][0-9]*");

    private Topics() {}

    /**
     * Returns the topic unchanged.
     *
     * @throws InvalidEventException if the topic violates the rule; the message contains the rule
     */
    public static String check(String topic) {
        if (topic.length() > MAX_LENGTH || !VALID.matcher(topic).matches()) {
            throw new InvalidEventException("Topic " + EventRules.show(topic) + " is not of the form " + RULE);
        }
        return topic;
    }
}
