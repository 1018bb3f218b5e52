package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;
import outbox.admin.Backlog;
import outbox.admin.EventPauses;
import outbox.admin.OutboxStatistics;
import outbox.admin.OutboxStatistics.TypeCount;
import outbox.admin.Pause;
import outbox.internal.text.PrintableText;
import outbox.jdbc.LeaderInfo;
import outbox.model.EventStatus;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;

/** Counts events by status and type, in one table or in all outbox tables of the database. */
@Command(
        name = "status",
        mixinStandardHelpOptions = true,
        description = {
            "Counts the events of a table by status and type, and tells how long the oldest one waits.",
            "Without --table: an overview of all outbox tables of the database."
        })
final class StatusCommand implements Callable<Integer> {

    private static final Duration SHORTEST_PAUSE = Duration.ofMillis(100);

    private final Io io;

    @Mixin
    private DatabaseOptions database = new DatabaseOptions();

    @Option(names = "--table", description = "default: all outbox tables of the database")
    private @Nullable String table;

    @Option(names = "--pending", description = "count only what waits: quick, however many events are done")
    private boolean pending;

    @Option(
            names = "--watch",
            paramLabel = "TIME",
            description = "again and again, with this pause, as in 2s, until it is interrupted")
    private @Nullable String watch;

    @Option(names = "--json", description = "for programs")
    private boolean json;

    StatusCommand(Io io) {
        this.io = io;
    }

    @Override
    public Integer call() throws Exception {
        if (watch == null) {
            return show();
        }
        Duration pause = Durations.parse("--watch", watch);
        if (pause.compareTo(SHORTEST_PAUSE) < 0) {
            throw new SettingsException("--watch must be at least 100ms, but is " + PrintableText.of(watch));
        }
        int code = ExitCode.OK;
        while (!Thread.currentThread().isInterrupted()) {
            code = show();
            io.out().println();
            LockSupport.parkNanos(pause.toNanos());
        }
        return code;
    }

    private int show() throws SQLException {
        if (table != null) {
            show(table);
            return ExitCode.OK;
        }
        List<String> tables = OutboxTables.of(database.database(io));
        if (tables.isEmpty()) {
            io.warn("There is no outbox table in this database. Name its schema by --table, or create one:"
                    + " outbox schema apply");
            if (json) {
                io.print(new Answer().with("tables", tables));
            }
            return ExitCode.PROBLEM;
        }
        if (tables.size() == 1 && !json) {
            show(tables.get(0));
            return ExitCode.OK;
        }
        return showAll(tables);
    }

    private int showAll(List<String> tables) throws SQLException {
        List<Object> answers = new ArrayList<>();
        TextTable rows = new TextTable(
                "TABLE", "NEW", "RETRY", "DEAD", "DONE", "CLAIMED", "OLDEST", "OVERDUE", "LEADER", "PAUSES");
        int code = ExitCode.OK;
        for (String name : tables) {
            try {
                add(name, rows, answers);
            } catch (SQLException | OutboxException e) {
                code = ExitCode.FAILED;
                io.warn(PrintableText.of(io.secrets().hide("Cannot read table " + name + ": " + e.getMessage())));
            }
        }
        if (json) {
            io.print(new Answer().with("tables", answers));
        } else {
            rows.print(io.out());
        }
        return code;
    }

    private void add(String name, TextTable rows, List<Object> answers) throws SQLException {
        Target target = database.target(io, name);
        Backlog backlog = target.admin().backlog();
        if (pending) {
            answers.add(answer(name, backlog));
            rows.add(
                    name,
                    backlog.pending(),
                    "",
                    "",
                    "",
                    backlog.locked(),
                    backlog.oldestPendingAge(),
                    backlog.longestOverdue(),
                    leader(target),
                    pauses(target).size());
            return;
        }
        OutboxStatistics statistics = target.admin().statistics();
        List<Pause> pauses = pauses(target);
        Map<EventStatus, Long> counts = statistics.byStatus();
        answers.add(answer(name, target, statistics, backlog, pauses));
        rows.add(
                name,
                counts.get(EventStatus.NEW),
                counts.get(EventStatus.RETRY),
                counts.get(EventStatus.DEAD),
                counts.get(EventStatus.DONE),
                backlog.locked(),
                statistics.oldestPendingAge(),
                backlog.longestOverdue(),
                leader(target),
                pauses.size());
    }

    private static List<Pause> pauses(Target target) {
        return target.subject().store().capability(EventPauses.class).isPresent()
                ? target.admin().pauses()
                : List.of();
    }

    private static String leader(Target target) throws SQLException {
        return NodesCommand.leader(target).map(LeaderInfo::session).orElse("none");
    }

    private void show(String name) throws SQLException {
        Target target = database.target(io, name);
        Backlog backlog = target.admin().backlog();
        if (pending) {
            show(name, backlog);
            return;
        }
        OutboxStatistics statistics = target.admin().statistics();
        List<Pause> pauses = pauses(target);
        if (json) {
            io.print(answer(name, target, statistics, backlog, pauses));
        } else {
            print(name, target, statistics, pauses);
        }
    }

    private void show(String name, Backlog backlog) {
        var oldest = backlog.oldestPendingAge();
        if (json) {
            io.print(answer(name, backlog));
        } else {
            io.print(name + ": " + backlog.pending() + " pending, " + backlog.locked() + " of them locked"
                    + (oldest == null ? "" : "; the oldest waits " + TextTable.age(oldest)));
        }
    }

    private static Answer answer(String name, Backlog backlog) {
        return new Answer()
                .with("table", name)
                .with("at", backlog.at())
                .with("pending", backlog.pending())
                .with("locked", backlog.locked())
                .with("oldestPendingSeconds", seconds(backlog.oldestPendingAge()))
                .with("overdueSeconds", seconds(backlog.longestOverdue()));
    }

    private static @Nullable Long seconds(@Nullable Duration span) {
        return span == null ? null : span.toSeconds();
    }

    private static Answer answer(
            String name, Target target, OutboxStatistics statistics, Backlog backlog, List<Pause> pauses)
            throws SQLException {
        return new Answer()
                .with("table", name)
                .with("layout", target.subject().kind())
                .with("at", statistics.at())
                .with("byStatus", statistics.byStatus())
                .with("unknownStatus", statistics.unknownStatus())
                .with("locked", backlog.locked())
                .with("oldestPendingSeconds", seconds(statistics.oldestPendingAge()))
                .with("overdueSeconds", seconds(backlog.longestOverdue()))
                .with(
                        "leader",
                        NodesCommand.leader(target).map(LeaderInfo::session).orElse(null))
                .with(
                        "byType",
                        statistics.byType().stream()
                                .map(some -> new Answer()
                                        .with("type", some.eventType())
                                        .with("status", status(some))
                                        .with("count", some.count()))
                                .toList())
                .with(
                        "pauses",
                        pauses.stream()
                                .map(pause -> new Answer()
                                        .with("scope", pause.scope())
                                        .with("name", pause.name())
                                        .with("since", pause.since())
                                        .with("by", pause.by())
                                        .with("reason", pause.reason()))
                                .toList());
    }

    private void print(String name, Target target, OutboxStatistics statistics, List<Pause> pauses) {
        Map<EventStatus, Long> counts = statistics.byStatus();
        var oldest = statistics.oldestPendingAge();
        io.print(name + " in " + target.database() + ": "
                + counts.get(EventStatus.NEW) + " new, "
                + counts.get(EventStatus.RETRY) + " to retry, "
                + counts.get(EventStatus.DEAD) + " dead, "
                + counts.get(EventStatus.DONE) + " done"
                + (oldest == null ? "; nothing is pending" : "; the oldest waits " + TextTable.age(oldest)));
        for (Pause pause : pauses) {
            io.print(PrintableText.of("Paused: " + pause.scope() + " " + pause.name() + " since " + pause.since()
                    + " by " + pause.by() + ", " + pause.reason()));
        }
        if (!statistics.byType().isEmpty()) {
            TextTable rows = new TextTable("TYPE", "STATUS", "EVENTS");
            statistics.byType().forEach(some -> rows.add(some.eventType(), status(some), some.count()));
            rows.print(io.out());
        }
    }

    private static String status(TypeCount some) {
        return some.status().map(Enum::name).orElse("code " + some.statusCode());
    }
}
