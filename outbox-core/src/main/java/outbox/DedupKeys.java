package outbox;

import outbox.internal.EventRules;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/**
 * Creates values for {@code dedupKey}; each method stands for one rule about what may happen only once. The parts
 * are separated by colons and only the id may contain a colon, so two different subjects never get the same key from
 * one method. The builder of the event rejects keys that are too long.
 */
public final class DedupKeys {

    private static final DateTimeFormatter HOUR =
            DateTimeFormatter.ofPattern("uuuuMMddHH").withZone(ZoneOffset.UTC);

    private DedupKeys() {}

    /** Once per subject, for example {@code enrollment:7}. */
    public static String natural(String kind, String id) {
        return part("kind", kind) + ":" + present("id", id);
    }

    /** Once per version of an aggregate: {@code type:aggregateId:version}. */
    public static String version(String eventType, String aggregateId, String version) {
        return part("eventType", eventType) + ":" + present("aggregateId", aggregateId) + ":"
                + part("version", version);
    }

    /** Once per version of an aggregate: {@code type:aggregateId:version}. */
    public static String version(String eventType, String aggregateId, long version) {
        return version(eventType, aggregateId, Long.toString(version));
    }

    /** Once per aggregate and hour in UTC: {@code type:aggregateId:yyyyMMddHH}. */
    public static String hour(String eventType, String aggregateId, Instant time) {
        return version(eventType, aggregateId, HOUR.format(EventRules.checkTime("time", time)));
    }

    private static String part(String name, String value) {
        if (present(name, value).indexOf(':') >= 0) {
            throw new InvalidEventException(name + " " + EventRules.show(value)
                    + " has a colon, so its key could be that of something else. Give a dedupKey of your own.");
        }
        return value;
    }

    private static String present(String name, String value) {
        if (value.isEmpty()) {
            throw new InvalidEventException(name + " must not be empty");
        }
        return value;
    }
}
