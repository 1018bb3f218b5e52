package outbox.spring.boot.internal;

/** What this process does with an outbox. */
public enum Role {
    /** Writes events and delivers them. */
    BOTH,
    /** Writes events; another process delivers them. */
    WRITER,
    /** Delivers events that other processes write. */
    RELAY;

    boolean writes() {
        return this != RELAY;
    }

    public boolean relays() {
        return this != WRITER;
    }
}
