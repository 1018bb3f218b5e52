package outbox.internal;

import outbox.EventEnvelope;
import outbox.EventHeaders;
import outbox.InvalidEventException;
import outbox.internal.text.PrintableText;

import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import java.util.Map;

/**
 * Checks that every supported database can store an event and every transport can carry it. All other events are
 * rejected before any SQL runs.
 */
public final class EventRules {

    static final int MAX_HEADERS = 256;
    private static final int MAX_SHOWN = 80;
    static final int MAX_HEADER_NAME_LENGTH = 256;
    static final int MAX_HEADERS_BYTES = 65_536;

    private static final Instant EARLIEST = Instant.parse("1000-01-01T00:00:00Z"); // minimum of a MySQL DATETIME
    private static final Instant LATEST = Instant.parse("9999-12-31T23:59:59.999999Z");

    /** The value that programs and databases use for "never". No event is stored or due at this time or later. */
    public static final Instant NEVER = Instant.parse("9999-12-31T00:00:00Z");

    private static final Duration SHORTEST_SPAN = Duration.ofMillis(1);
    private static final Duration LONGEST_SPAN = Duration.ofDays(36_500);

    private EventRules() {}

    public static String checkId(String eventId) {
        checkName("eventId", eventId, EventEnvelope.MAX_EVENT_ID_LENGTH);
        if (!eventId.equals(eventId.strip())) { // databases that pad strings would see a duplicate
            throw new InvalidEventException("eventId " + show(eventId) + " must not start or end with white space");
        }
        return eventId;
    }

    public static String checkName(String field, String value, int maxLength) {
        if (value.isEmpty()) {
            throw new InvalidEventException(field + " must not be empty");
        }
        if (value.codePointCount(0, value.length()) > maxLength) {
            throw new InvalidEventException(
                    field + " " + show(value) + " is longer than the " + maxLength + " characters of its column");
        }
        utf8Length(field, value);
        return value;
    }

    /** Checks a payload given as text and returns its size in bytes. */
    public static int checkText(String eventId, String payload) {
        return utf8Length("The payload of event " + eventId, payload);
    }

    public static Instant checkTime(String field, Instant time) {
        if (time.isBefore(EARLIEST) || time.isAfter(LATEST)) {
            throw new InvalidEventException(field + " must be between " + EARLIEST + " and " + LATEST);
        }
        return time;
    }

    /** Checks that a due time is before {@link #NEVER}; otherwise the event would never be delivered. */
    public static Instant checkDueTime(String field, Instant time) {
        checkTime(field, time);
        if (!time.isBefore(NEVER)) {
            throw new InvalidEventException(field + " must be before " + NEVER);
        }
        return time;
    }

    /** Checks that a duration is between 1 ms, the precision of the column, and 100 years. */
    public static Duration checkSpan(String field, Duration span) {
        if (span.compareTo(SHORTEST_SPAN) < 0 || span.compareTo(LONGEST_SPAN) > 0) {
            throw new InvalidEventException(
                    field + " must be between " + SHORTEST_SPAN + " and " + LONGEST_SPAN + ": " + span);
        }
        return span;
    }

    /**
     * Checks a key. All databases must compare keys by their characters, so a key must not depend on how a database
     * pads strings.
     */
    public static String checkDedupKey(String key) {
        checkName("dedupKey", key, EventEnvelope.MAX_DEDUP_KEY_LENGTH);
        if (!key.equals(key.strip()) || key.chars().anyMatch(Character::isISOControl)) {
            throw new InvalidEventException("dedupKey " + show(key)
                    + " must not start or end with white space, nor contain a control character");
        }
        return key;
    }

    public static int checkPriority(int priority) {
        if (priority < 0 || priority > EventEnvelope.MAX_PRIORITY) {
            throw new InvalidEventException(
                    "priority must be between 0 and " + EventEnvelope.MAX_PRIORITY + ": " + priority);
        }
        return priority;
    }

    public static int checkSchemaVersion(int version) {
        if (version < 1) {
            throw new InvalidEventException("schemaVersion must be at least 1: " + version);
        }
        return version;
    }

    public static String checkHeaderName(String name) {
        if (name.isEmpty() || name.length() > MAX_HEADER_NAME_LENGTH) {
            throw new InvalidEventException(
                    "A header name must have 1 to " + MAX_HEADER_NAME_LENGTH + " characters, not " + name.length());
        }
        if (name.chars().anyMatch(Character::isISOControl)) {
            throw new InvalidEventException("Header name " + show(name) + " contains a control character");
        }
        if (name.toLowerCase(Locale.ROOT).startsWith(EventHeaders.RESERVED_PREFIX)) {
            throw new InvalidEventException("Header name " + show(name) + " is reserved: names with the prefix '"
                    + EventHeaders.RESERVED_PREFIX + "' belong to the framework");
        }
        utf8Length("Header name", name);
        return name;
    }

    public static String checkHeaderValue(String name, String value) {
        utf8Length("Header " + show(name), value);
        return value;
    }

    public static void checkHeaders(Map<String, String> headers) {
        if (headers.size() > MAX_HEADERS) {
            throw new InvalidEventException("An event has at most " + MAX_HEADERS + " headers, not " + headers.size());
        }
        long bytes = 0;
        for (Map.Entry<String, String> header : headers.entrySet()) {
            bytes += utf8Length("Header name", header.getKey()) + utf8Length("Header", header.getValue());
        }
        if (bytes > MAX_HEADERS_BYTES) {
            throw new InvalidEventException("The headers of an event have at most " + MAX_HEADERS_BYTES
                    + " bytes together, not " + bytes + ". Large content belongs into the payload.");
        }
    }

    /** Formats a value for a message or a log line: in quotes, on one line, with at most 80 characters. */
    public static String show(String value) {
        return "'" + PrintableText.of(value, MAX_SHOWN) + "'";
    }

    /**
     * Returns the length in UTF-8, computed in one pass without encoding. Rejects NUL characters and unpaired
     * surrogates, which some databases cannot store.
     */
    private static int utf8Length(String what, String text) {
        int bytes = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == 0) {
                throw new InvalidEventException(what + " contains a NUL character at index " + i);
            }
            if (c < 0x80) {
                bytes++;
            } else if (c < 0x800) {
                bytes += 2;
            } else if (!Character.isSurrogate(c)) {
                bytes += 3;
            } else if (Character.isHighSurrogate(c)
                    && i + 1 < text.length()
                    && Character.isLowSurrogate(text.charAt(i + 1))) {
                bytes += 4;
                i++;
            } else {
                throw new InvalidEventException(what + " contains a lone surrogate at index " + i);
            }
        }
        return bytes;
    }
}
