package outbox.spi;

/** A store on a table that is described rather than ours, as a relay needs to know it. */
public interface DescribedEventStore extends LeasingEventStore, NamedEventStore {

    /** With how many attempts an event is dead: a table that has no status tells it by their number. */
    int maxAttempts();

    /** Whether the table has a place for claims, so that several nodes may share it; if not, it needs a {@link Leadership}. */
    boolean isShared();
}
