package outbox.cli;

import outbox.admin.EventFilter;
import outbox.model.EventStatus;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/** The statements of a change as a person would write them, with their values. Only shown: what runs binds its values and goes in portions. */
final class ChangeSql {

    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSS");

    private final String store;
    private final String table;

    ChangeSql(String store, String table) {
        this.store = store;
        this.table = table;
    }

    String replay(EventFilter filter, int cap, int eventsPerSecond) {
        String due = eventsPerSecond == 0 ? "now" : "now, then 1/" + eventsPerSecond + " s later each";
        return """
                UPDATE %s
                   SET status = 0, attempts = 0, available_at = <%s>, done_at = NULL,
                       locked_by = NULL, locked_at = NULL, headers = <marked as replayed>
                 WHERE %s
                -- the oldest %d at most""".formatted(table, due, where(filter), cap);
    }

    String discard(EventFilter filter, int cap) {
        return """
                DELETE FROM %s
                 WHERE %s
                -- the oldest %d at most""".formatted(table, where(filter), cap);
    }

    String purge(EventStatus status, Instant doneBefore) {
        return """
                DELETE FROM %s
                 WHERE status = %d
                   AND done_at < %s""".formatted(table, status.code(), time(doneBefore));
    }

    String where(EventFilter filter) {
        List<String> conditions = new ArrayList<>();
        Collection<EventStatus> statuses = filter.statuses().isEmpty() ? List.of(EventStatus.DEAD) : filter.statuses();
        conditions.add("status IN ("
                + statuses.stream()
                        .map(EventStatus::code)
                        .sorted()
                        .map(String::valueOf)
                        .collect(Collectors.joining(", "))
                + ")");
        if (!filter.eventIds().isEmpty()) {
            conditions.add("event_id IN ("
                    + filter.eventIds().stream().sorted().map(ChangeSql::text).collect(Collectors.joining(", ")) + ")");
        }
        if (filter.eventType() != null) {
            conditions.add("event_type = " + text(filter.eventType()));
        }
        if (filter.aggregateType() != null) {
            conditions.add("aggregate_type = " + text(filter.aggregateType()));
        }
        if (filter.aggregateId() != null) {
            conditions.add("aggregate_id = " + text(filter.aggregateId()));
        }
        if (filter.dedupKey() != null) {
            conditions.add("dedup_key = " + text(filter.dedupKey()));
        }
        if (filter.errorContains() != null) {
            conditions.add("last_error LIKE "
                    + text("%" + filter.errorContains().replaceAll("([!%_])", "!$1") + "%") + " ESCAPE '!'");
        }
        if (filter.createdFrom() != null) {
            conditions.add("created_at >= " + time(filter.createdFrom()));
        }
        if (filter.createdBefore() != null) {
            conditions.add("created_at < " + time(filter.createdBefore()));
        }
        return String.join("\n   AND ", conditions);
    }

    private static String text(String value) {
        return "'" + TextTable.oneLine(value).replace("'", "''") + "'";
    }

    private String time(Instant time) {
        String text = TIME.format(time.atOffset(ZoneOffset.UTC));
        return store.equals("mysql") ? "'" + text + "'" : "TIMESTAMP WITH TIME ZONE '" + text + "+00'";
    }
}
