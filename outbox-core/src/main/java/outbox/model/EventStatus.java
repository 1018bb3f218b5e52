package outbox.model;

import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/** The life cycle of an event. The diagram is in {@code docs/event-life.md}, and a test compares the two. */
public enum EventStatus {
    /** Written, waiting for its first attempt. */
    NEW(0),
    /** Delivered. */
    DONE(1),
    /** Failed, waiting for its next attempt. */
    RETRY(2),
    /** No relay delivers it again unless a person replays it. */
    DEAD(3);

    private static final Map<EventStatus, Set<EventStatus>> NEXT = new EnumMap<>(Map.of(
            NEW, EnumSet.of(DONE, RETRY, DEAD),
            RETRY, EnumSet.of(DONE, RETRY, DEAD),
            DONE, EnumSet.of(NEW), // replay
            DEAD, EnumSet.of(NEW))); // replay

    private final int code;

    EventStatus(int code) {
        this.code = code;
    }

    /** The value in the status column. */
    public int code() {
        return code;
    }

    public boolean isTerminal() {
        return this == DONE || this == DEAD;
    }

    /** Whether an event may change from this status to the given one. Only a replay leaves a terminal status. */
    public boolean canBecome(EventStatus next) {
        return NEXT.getOrDefault(this, Set.of()).contains(next);
    }

    /** Returns the status with the given code; rejects an unknown code. */
    public static EventStatus of(int code) {
        for (EventStatus status : values()) {
            if (status.code == code) {
                return status;
            }
        }
        throw new IllegalArgumentException("No event status has the code " + code);
    }
}
