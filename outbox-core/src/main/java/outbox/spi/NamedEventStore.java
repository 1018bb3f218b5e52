package outbox.spi;

import outbox.Experimental;

/** A store that can name its table. */
@Experimental
public interface NamedEventStore extends EventStore {

    /** The name of the table, with its schema if it was given one. */
    String tableName();
}
