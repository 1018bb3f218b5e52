package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.spi.AdminEventStore;

import java.sql.Connection;
import java.util.List;

/** The events that a request means: those of a filter, and of one group of errors if it names one. */
record Selection(
        AdminEventStore store, EventFilter filter, @Nullable String errorFingerprint) {

    /** The oldest first. */
    List<String> ids(Connection connection, int limit) {
        if (errorFingerprint == null) {
            return store.findIds(connection, filter, limit);
        }
        List<String> ids = ErrorGroups.ids(store, connection, filter, errorFingerprint);
        return ids.subList(0, Math.min(limit, ids.size()));
    }

    long count(Connection connection) {
        return errorFingerprint == null
                ? store.count(connection, filter)
                : ErrorGroups.ids(store, connection, filter, errorFingerprint).size();
    }
}
