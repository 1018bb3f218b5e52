package outbox.spring.boot;

/** What this process does with an outbox. */
enum Role {
    /** Writes events and delivers them. */
    BOTH,
    /** Writes events; another process delivers them. */
    WRITER,
    /** Delivers events that other processes write. */
    RELAY;

    boolean writes() {
        return this != RELAY;
    }

    boolean relays() {
        return this != WRITER;
    }
}
