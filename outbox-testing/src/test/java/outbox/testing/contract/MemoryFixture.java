package outbox.testing.contract;

import org.jspecify.annotations.Nullable;
import outbox.EventRef;
import outbox.admin.EventAdministration;
import outbox.admin.EventAdministration.Replay;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.memory.MemoryEventStore;
import outbox.model.EventStatus;
import outbox.spi.EventControl;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.logging.Logger;
import javax.sql.DataSource;

/** A store in memory, seen as if it were a table. */
final class MemoryFixture {

    private MemoryFixture() {}

    static StoreFixture create() {
        MemoryEventStore store = MemoryEventStore.builder()
                .maxEvents(50_000)
                .maxBytes(200L << 20)
                .build();
        return new StoreFixture(new Connections(store), store, "memory", true, new Rows(store));
    }

    private record Rows(MemoryEventStore store, EventAdministration admin, EventControl control)
            implements StoreFixture.Rows {

        Rows(MemoryEventStore store) {
            this(
                    store,
                    EventAdministration.of(store),
                    store.capability(EventControl.class).orElseThrow());
        }

        @Override
        public StoreFixture.Row row(Connection connection, String eventId) {
            return row(admin.find(connection, eventId)
                    .orElseThrow(() -> new AssertionError("There is no event " + eventId)));
        }

        private static StoreFixture.Row row(EventDetails details) {
            EventSummary summary = details.summary();
            return new StoreFixture.Row(
                    summary.status().orElseThrow(), summary.attempts(), details.lastError(), summary.lockedBy());
        }

        @Override
        public long count(Connection connection, String condition) {
            List<EventSummary> all = summaries(connection);
            return switch (condition) {
                case "1 = 1" -> all.size();
                case "status = 1" -> with(all, EventStatus.DONE).size();
                case "status = 2" -> with(all, EventStatus.RETRY).size();
                case "status = 3" -> with(all, EventStatus.DEAD).size();
                case "status IN (0, 2)" ->
                    with(all, EventStatus.NEW).size()
                            + with(all, EventStatus.RETRY).size();
                case "status = 3 AND done_at IS NULL" ->
                    with(all, EventStatus.DEAD).stream()
                            .filter(summary -> summary.doneAt() == null)
                            .count();
                default -> throw new IllegalArgumentException(condition);
            };
        }

        private static List<EventSummary> with(List<EventSummary> all, EventStatus status) {
            return all.stream()
                    .filter(summary -> summary.statusCode() == status.code())
                    .toList();
        }

        private List<EventSummary> summaries(Connection connection) {
            List<EventSummary> all = new ArrayList<>();
            EventQuery query = EventQuery.builder().pageSize(1000).build();
            List<EventSummary> page = admin.find(connection, query);
            while (!page.isEmpty()) {
                all.addAll(page);
                page = admin.find(
                        connection, query.after(page.get(page.size() - 1).cursor()));
            }
            return all;
        }

        @Override
        public Set<String> lockedBy(Connection connection, String token) {
            Set<String> ids = new HashSet<>();
            for (EventSummary summary : summaries(connection)) {
                if (token.equals(summary.lockedBy())) {
                    ids.add(summary.eventId());
                }
            }
            return ids;
        }

        @Override
        public void makeDue(Connection connection, String eventId, Instant at) {
            control.reschedule(
                    connection,
                    control.find(connection, EventRef.id(eventId), false).orElseThrow(),
                    at);
        }

        @Override
        public Map<String, StoreFixture.PlacedRow> all(Connection connection) {
            Map<String, StoreFixture.PlacedRow> all = new TreeMap<>();
            for (EventSummary summary : summaries(connection)) {
                all.put(
                        summary.eventId(),
                        new StoreFixture.PlacedRow(row(connection, summary.eventId()), summary.availableAt()));
            }
            return all;
        }

        /** What keeps a key is not purged, so it is made pending first. */
        @Override
        public void clear(Connection connection) {
            discardUnfinished(connection);
            admin.purge(connection, EventStatus.DONE, Instant.parse("9999-01-01T00:00:00Z"), Integer.MAX_VALUE);
            Replay again = new Replay("clear", Set.of(EventStatus.DONE), null, store.now(connection), Duration.ZERO);
            admin.replay(connection, ids(connection), again);
            discardUnfinished(connection);
        }

        private void discardUnfinished(Connection connection) {
            ids(connection).forEach(id -> store.markDead(connection, id, "cleared"));
            admin.discard(connection, ids(connection));
        }

        private List<String> ids(Connection connection) {
            return admin.findIds(connection, EventFilter.all(), Integer.MAX_VALUE);
        }
    }

    /** Connections to the store, as a data source. */
    private record Connections(MemoryEventStore store) implements DataSource {

        @Override
        public Connection getConnection() throws SQLException {
            return store.connections().getConnection();
        }

        @Override
        public Connection getConnection(String user, String password) throws SQLException {
            return getConnection();
        }

        @Override
        public @Nullable PrintWriter getLogWriter() {
            return null;
        }

        @Override
        public void setLogWriter(@Nullable PrintWriter out) {}

        @Override
        public void setLoginTimeout(int seconds) {}

        @Override
        public int getLoginTimeout() {
            return 0;
        }

        @Override
        public Logger getParentLogger() throws SQLFeatureNotSupportedException {
            throw new SQLFeatureNotSupportedException();
        }

        @Override
        public <T> T unwrap(Class<T> type) throws SQLException {
            throw new SQLException("Nothing is wrapped");
        }

        @Override
        public boolean isWrapperFor(Class<?> type) {
            return false;
        }
    }
}
