package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;
import outbox.admin.AdminAction;
import outbox.admin.AdminRequest;
import outbox.admin.AuditEntry;
import outbox.admin.EventAdministration;
import outbox.cli.doctor.Queries;
import outbox.cli.doctor.Subject;
import outbox.model.EventStatus;
import outbox.spi.LeasingEventStore;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * Deletes finished events past their retention, one batch per transaction. Each transaction also adds the number of
 * its rows to the audit record, so the record is correct even if the process dies.
 */
@Command(
        name = "purge",
        mixinStandardHelpOptions = true,
        description =
                "Deletes delivered events past their retention, and dead ones only if a retention is given for them.")
final class PurgeCommand extends RecordedCommand {

    @Option(
            names = "--retention",
            required = true,
            paramLabel = "TIME",
            description = "how long delivered events are kept, as in 168h")
    private String retention = "";

    @Option(
            names = "--dead-retention",
            paramLabel = "TIME",
            description = "how long dead events are kept; default: for ever")
    private @Nullable String deadRetention;

    @Option(
            names = "--batch-size",
            paramLabel = "N",
            defaultValue = "1000",
            description = "events per transaction, 1 to 10000; default ${DEFAULT-VALUE}")
    private int batchSize;

    PurgeCommand(Io io) {
        super(io);
    }

    @Override
    public Integer call() throws Exception {
        if (batchSize < 1 || batchSize > 10_000) {
            throw new SettingsException("--batch-size must be between 1 and 10000, but is " + batchSize);
        }
        Duration keepDone = positive("--retention", retention, "to delete delivered events of any age give 1ms");
        Duration keepDead = deadRetention == null
                ? null
                : positive("--dead-retention", deadRetention, "leave it out to keep dead events for ever");
        Target target = database.changedTarget(io, table);
        if (keepDead != null) {
            target.requireMaxAttempts();
        }
        try (Connection connection = target.database().getConnection()) {
            Map<EventStatus, Instant> ends = new LinkedHashMap<>();
            Instant now = target.subject().store().now(connection);
            ends.put(EventStatus.DONE, now.minus(keepDone));
            if (keepDead != null) {
                ends.put(EventStatus.DEAD, now.minus(keepDead));
            }
            Plan plan = plan(target.subject(), connection, ends);
            Optional<Integer> refused = change.confirm(io, plan);
            if (refused.isPresent()) {
                return refused.get();
            }
            return purge(target.subject().store(), connection, ends, plan);
        }
    }

    /**
     * Parses a duration and refuses zero. Zero means "for ever" in other settings, so here it must not mean
     * "everything".
     */
    private static Duration positive(String flag, String text, String instead) {
        Duration span = Durations.parse(flag, text);
        if (span.isZero()) {
            throw new SettingsException(flag + " must be more than 0; " + instead);
        }
        return span;
    }

    private Plan plan(Subject subject, Connection connection, Map<EventStatus, Instant> ends) throws SQLException {
        Queries queries = new Queries(connection, table);
        ChangeSql sql = new ChangeSql(subject);
        StringBuilder text = new StringBuilder();
        long rows = 0;
        for (Map.Entry<EventStatus, Instant> end : ends.entrySet()) {
            text.append(text.isEmpty() ? "" : ";\n").append(sql.purge(end.getKey(), end.getValue()));
            String age = subject.kind().ageOf(end.getKey());
            rows += queries.count(
                    subject.kind().is(end.getKey(), subject.maxAttempts()) + " AND " + age + " < ?",
                    queries.time(age, end.getValue()));
        }
        return new Plan("Purge", table, text.toString(), rows, rows, false);
    }

    private int purge(LeasingEventStore store, Connection connection, Map<EventStatus, Instant> ends, Plan plan)
            throws SQLException {
        EventAdministration administration = EventAdministration.of(store);
        String requestId = change.requestId().orElseGet(() -> UUID.randomUUID().toString());
        AdminRequest.builder()
                .actor(change.actor())
                .reason(change.reason())
                .requestId(requestId); // refuses values that the audit record cannot store
        connection.setAutoCommit(false);
        AuditEntry entry = new AuditEntry(
                requestId,
                AdminAction.PURGE,
                change.actor(),
                change.reason(),
                selection(ends),
                plan.rows(),
                0,
                store.now(connection),
                null);
        boolean isFirst = administration.beginAudit(connection, entry);
        connection.commit();
        if (!isFirst) {
            io.warn("Request " + requestId + " was made before; nothing was changed.");
            return ExitCode.OK;
        }
        long deleted = 0;
        try (StopSignal stop = new StopSignal()) {
            try {
                for (Map.Entry<EventStatus, Instant> end : ends.entrySet()) {
                    int count;
                    do {
                        store.prepare(connection);
                        count = administration.purge(connection, end.getKey(), end.getValue(), batchSize);
                        administration.progressAudit(connection, requestId, count, null);
                        connection.commit();
                        deleted += count;
                    } while (count == batchSize && !stop.getAsBoolean());
                }
                if (!stop.getAsBoolean()) {
                    administration.progressAudit(connection, requestId, 0, store.now(connection));
                    connection.commit();
                }
            } catch (SQLException | OutboxException e) {
                if (deleted > 0) {
                    report(plan, requestId, deleted, false);
                }
                throw e;
            }
            report(plan, requestId, deleted, !stop.getAsBoolean());
            return stop.getAsBoolean() ? ExitCode.PROBLEM : ExitCode.OK;
        }
    }

    private static String selection(Map<EventStatus, Instant> ends) {
        return ends.entrySet().stream()
                .map(end -> end.getKey() + " events that ended before " + end.getValue())
                .collect(Collectors.joining(", "));
    }

    private void report(Plan plan, String requestId, long deleted, boolean isComplete) {
        if (change.isJson()) {
            io.print(plan.answer(true)
                    .with("requestId", requestId)
                    .with("affected", deleted)
                    .with("total", plan.rows())
                    .with("complete", isComplete));
        } else if (!isComplete) {
            io.print(String.format(
                    Locale.ROOT,
                    "%,d of %,d done, not finished; go on by running the same command again.",
                    deleted,
                    plan.rows()));
        } else {
            io.print("Done: " + deleted + " events. Audit record " + requestId + ".");
        }
    }
}
