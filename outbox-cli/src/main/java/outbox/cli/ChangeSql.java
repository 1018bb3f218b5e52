package outbox.cli;

import outbox.admin.EventFilter;
import outbox.cli.doctor.Subject;
import outbox.cli.doctor.TableKind;
import outbox.internal.text.PrintableText;
import outbox.model.EventStatus;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The statements of a change with their values, as a person would write them. They are only shown: the statements
 * that run bind their values and change a limited number of rows each.
 */
final class ChangeSql {

    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSS");

    private final Subject subject;
    private final TableKind kind;

    ChangeSql(Subject subject) {
        this.subject = subject;
        this.kind = subject.kind();
    }

    String replay(EventFilter filter, int cap, int eventsPerSecond) {
        String due = eventsPerSecond == 0 ? "<now>" : "<now, then 1/" + eventsPerSecond + " s later each>";
        String set = switch (kind) {
            case EVENT ->
                "status = " + (filter.statuses().equals(Set.of(EventStatus.RETRY)) ? 2 : 0)
                        + ", attempts = 0, available_at = " + due + ", done_at = NULL,\n"
                        + "       locked_by = NULL, locked_at = NULL, headers = <marked as replayed>";
            case MODULE ->
                "published_at = NULL, attempts = 0, available_at = " + due + ", locked_at = NULL, last_error = NULL";
            case TEXT_STATUS -> "status = 'NEW', retry_count = 0, next_retry_time = " + due + ", update_time = <now>";
        };
        return """
                UPDATE %s
                   SET %s
                 WHERE %s
                -- the oldest %d at most""".formatted(subject.table(), set, where(filter), cap);
    }

    String discard(EventFilter filter, int cap) {
        return """
                DELETE FROM %s
                 WHERE %s
                -- the oldest %d at most""".formatted(subject.table(), where(filter), cap);
    }

    String skip(EventFilter filter, int cap) {
        return """
                UPDATE %s
                   SET seq = -seq
                 WHERE %s
                   AND seq > 0
                   AND aggregate_id IS NOT NULL
                -- the oldest %d at most""".formatted(subject.table(), where(filter), cap);
    }

    String runNow(EventFilter filter, int cap) {
        return """
                UPDATE %1$s
                   SET %2$s = <now>
                 WHERE %3$s
                   AND %2$s > <now>%4$s
                -- the oldest %5$d at most""".formatted(
                        subject.table(),
                        kind.due(),
                        where(filter),
                        kind == TableKind.TEXT_STATUS ? "" : "\n   AND locked_at IS NULL",
                        cap);
    }

    String release(EventFilter filter) {
        return """
                UPDATE %s
                   SET locked_at = <long ago>
                 WHERE %s""".formatted(subject.table(), where(filter));
    }

    /** Adds a comment with the fingerprint of the error group. SQL cannot compute the fingerprint. */
    static String ofGroup(String sql, String fingerprint) {
        return sql + "\n-- of them those whose errors have the fingerprint " + fingerprint;
    }

    String purge(EventStatus status, Instant endedBefore) {
        return """
                DELETE FROM %s
                 WHERE %s
                   AND %s < %s""".formatted(subject.table(), is(status), kind.ageOf(status), time(endedBefore));
    }

    String where(EventFilter filter) {
        List<String> conditions = new ArrayList<>();
        conditions.add(statuses(filter.statuses().isEmpty() ? List.of(EventStatus.DEAD) : filter.statuses()));
        if (!filter.eventIds().isEmpty()) {
            conditions.add("event_id IN ("
                    + filter.eventIds().stream().sorted().map(ChangeSql::text).collect(Collectors.joining(", ")) + ")");
        }
        if (filter.eventType() != null) {
            conditions.add(kind.type() + " = " + text(filter.eventType()));
        }
        if (filter.aggregateType() != null) {
            conditions.add("aggregate_type = " + text(filter.aggregateType()));
        }
        if (filter.aggregateId() != null) {
            conditions.add("aggregate_id = " + text(filter.aggregateId()));
        }
        if (filter.tenantId() != null) {
            conditions.add("tenant_id = " + text(filter.tenantId()));
        }
        if (filter.claimedBy() != null) {
            conditions.add("(locked_by = " + text(filter.claimedBy()) + " OR locked_by LIKE "
                    + text(filter.claimedBy().replaceAll("([!%_])", "!$1") + "/%") + " ESCAPE '!')");
        }
        if (filter.claimedBefore() != null) {
            conditions.add("locked_at < " + time(filter.claimedBefore()));
        }
        if (filter.dedupKey() != null) {
            conditions.add("dedup_key = " + text(filter.dedupKey()));
        }
        if (filter.errorContains() != null) {
            conditions.add("last_error LIKE "
                    + text("%" + filter.errorContains().replaceAll("([!%_])", "!$1") + "%") + " ESCAPE '!'");
        }
        if (filter.createdFrom() != null) {
            conditions.add(kind.created() + " >= " + time(filter.createdFrom()));
        }
        if (filter.createdBefore() != null) {
            conditions.add(kind.created() + " < " + time(filter.createdBefore()));
        }
        return String.join("\n   AND ", conditions);
    }

    private String statuses(Collection<EventStatus> statuses) {
        if (statuses.size() == 1) {
            return is(statuses.iterator().next());
        }
        return statuses.stream().sorted().map(this::is).collect(Collectors.joining(" OR ", "(", ")"));
    }

    private String is(EventStatus status) {
        return kind.is(status, subject.maxAttempts());
    }

    private static String text(String value) {
        return "'" + PrintableText.of(value).replace("'", "''") + "'";
    }

    private String time(Instant time) {
        String text = TIME.format(time.atOffset(ZoneOffset.UTC));
        boolean zoned = !subject.database().equals("mysql") && kind != TableKind.TEXT_STATUS;
        return zoned ? "TIMESTAMP WITH TIME ZONE '" + text + "+00'" : "TIMESTAMP '" + text + "'";
    }
}
