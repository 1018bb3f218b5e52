package outbox.payload;

import org.jspecify.annotations.Nullable;
import outbox.internal.EventRules;

import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * The versions of the payload of one event type. Each version has a Java type, and each but the last has a function
 * that converts it to the next version.
 */
final class PayloadVersions {

    /**
     * One version.
     *
     * @param upcast converts a value to the next version; null for the current version
     */
    private record Version(Class<?> type, @Nullable Function<Object, ?> upcast) {}

    private final String eventType;
    private final TreeMap<Integer, Version> versions = new TreeMap<>();

    PayloadVersions(String eventType) {
        this.eventType = eventType;
    }

    void add(int version, Class<?> type, @Nullable Function<Object, ?> upcast) {
        EventRules.checkSchemaVersion(version);
        if (versions.putIfAbsent(version, new Version(type, upcast)) != null) {
            throw new IllegalArgumentException(
                    "Version " + version + " of event type " + EventRules.show(eventType) + " was given twice");
        }
    }

    /** Rejects gaps and a last version with an upcaster. */
    PayloadVersions checked() {
        for (Map.Entry<Integer, Version> entry : versions.entrySet()) {
            int version = entry.getKey();
            boolean last = version == versions.lastKey();
            if (last != (entry.getValue().upcast() == null)) {
                throw new IllegalArgumentException("Event type " + EventRules.show(eventType)
                        + (last
                                ? " has an upcaster from version " + version + ", but no type of version "
                                        + (version + 1)
                                : " has a type of version " + version
                                        + " that is not the last, and no upcaster from it"));
            }
            if (!last && !versions.containsKey(version + 1)) {
                throw new IllegalArgumentException("Event type " + EventRules.show(eventType)
                        + " has an upcaster from version " + version + ", but nothing of version " + (version + 1));
            }
        }
        return this;
    }

    PayloadVersions copy() {
        PayloadVersions copy = new PayloadVersions(eventType);
        copy.versions.putAll(versions);
        return copy;
    }

    int current() {
        return versions.lastKey();
    }

    Class<?> currentType() {
        return versions.lastEntry().getValue().type();
    }

    boolean has(int version) {
        return versions.containsKey(version);
    }

    /** Reads the payload and converts it to the current version. */
    Object read(PayloadCodec codec, String payload, int version) {
        if (!has(version)) { // also if only later versions are known: it would be parsed as the wrong type
            throw new PayloadException(
                    "Version " + version + " of event type " + EventRules.show(eventType) + " is not known", null);
        }
        Object value = null;
        for (Map.Entry<Integer, Version> entry : versions.tailMap(version).entrySet()) {
            Version form = entry.getValue();
            if (value == null) {
                value = codec.read(payload, form.type());
            } else if (!form.type().isInstance(value)) {
                throw new PayloadException(
                        "The upcaster of event type " + EventRules.show(eventType) + " to version " + entry.getKey()
                                + " made a " + value.getClass().getName() + ", not a "
                                + form.type().getName(),
                        null);
            }
            Function<Object, ?> upcast = form.upcast();
            if (upcast != null) {
                value = upcast.apply(value);
                if (value == null) {
                    throw new PayloadException(
                            "The upcaster of event type " + EventRules.show(eventType) + " from version "
                                    + entry.getKey() + " answered null",
                            null);
                }
            }
        }
        if (value == null) {
            throw new PayloadException(
                    "Version " + version + " of event type " + EventRules.show(eventType) + " is not known", null);
        }
        return value;
    }
}
