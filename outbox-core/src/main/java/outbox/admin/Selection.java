package outbox.admin;

import org.jspecify.annotations.Nullable;

import java.sql.Connection;
import java.util.List;

/** The events that a request selects: those that match the filter, and belong to the error group if one is given. */
record Selection(
        EventAdministration store,
        EventFilter filter,
        @Nullable String errorFingerprint) {

    /** Returns the ids, oldest first. */
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
