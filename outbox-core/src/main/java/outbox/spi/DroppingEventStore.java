package outbox.spi;

import outbox.EventEnvelope;

import java.sql.Connection;
import java.util.List;
import java.util.Set;

/** A store that may drop an event instead of refusing its write, such as one in memory that is full. Who writes can ask, so that such an event is neither counted nor handed on. */
public interface DroppingEventStore extends LeasingEventStore {

    /** The ids of those of the events that were written in this transaction and dropped. */
    Set<String> dropped(Connection conn, List<EventEnvelope> events);
}
