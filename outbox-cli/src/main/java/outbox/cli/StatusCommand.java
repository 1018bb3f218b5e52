package outbox.cli;

import outbox.admin.Backlog;
import outbox.admin.OutboxStatistics;
import outbox.admin.Pause;
import outbox.admin.TypeCount;
import outbox.model.EventStatus;
import outbox.spi.PrintableText;
import outbox.spi.WithholdingEventStore;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** Counts events by status and type. */
@Command(
        name = "status",
        mixinStandardHelpOptions = true,
        description = "Counts the events of a table by status and type, and tells how long the oldest one waits.")
final class StatusCommand implements Callable<Integer> {

    private final Io io;

    @Mixin
    private DatabaseOptions database = new DatabaseOptions();

    @Option(names = "--table", defaultValue = "outbox_event", description = "default ${DEFAULT-VALUE}")
    private String table = "";

    @Option(names = "--pending", description = "count only what waits: quick, however many events are done")
    private boolean pending;

    @Option(names = "--json", description = "for programs")
    private boolean json;

    StatusCommand(Io io) {
        this.io = io;
    }

    @Override
    public Integer call() throws Exception {
        Target target = database.target(io, table);
        if (pending) {
            show(target.admin().backlog());
            return ExitCode.OK;
        }
        OutboxStatistics statistics = target.admin().statistics();
        List<Pause> pauses = target.subject().store() instanceof WithholdingEventStore
                ? target.admin().pauses()
                : List.of();
        if (json) {
            io.out().println(Json.pretty(answer(statistics, pauses).map()));
        } else {
            print(target, statistics, pauses);
        }
        return ExitCode.OK;
    }

    private void show(Backlog backlog) {
        var oldest = backlog.oldestPendingAge();
        if (json) {
            io.out()
                    .println(Json.pretty(new Answer()
                            .with("table", table)
                            .with("at", backlog.at())
                            .with("pending", backlog.pending())
                            .with("locked", backlog.locked())
                            .with("oldestPendingSeconds", oldest == null ? null : oldest.toSeconds())
                            .map()));
        } else {
            io.out()
                    .println(table + ": " + backlog.pending() + " pending, " + backlog.locked() + " of them locked"
                            + (oldest == null ? "" : "; the oldest waits " + TextTable.age(oldest)));
        }
    }

    private Answer answer(OutboxStatistics statistics, List<Pause> pauses) {
        var oldest = statistics.oldestPendingAge();
        return new Answer()
                .with("table", table)
                .with("at", statistics.at())
                .with("byStatus", statistics.byStatus())
                .with("unknownStatus", statistics.unknownStatus())
                .with("oldestPendingSeconds", oldest == null ? null : oldest.toSeconds())
                .with(
                        "byType",
                        statistics.byType().stream()
                                .map(some -> new Answer()
                                        .with("type", some.eventType())
                                        .with("status", status(some))
                                        .with("count", some.count())
                                        .map())
                                .toList())
                .with(
                        "pauses",
                        pauses.stream()
                                .map(pause -> new Answer()
                                        .with("scope", pause.scope())
                                        .with("name", pause.name())
                                        .with("since", pause.since())
                                        .with("by", pause.by())
                                        .with("reason", pause.reason())
                                        .map())
                                .toList());
    }

    private void print(Target target, OutboxStatistics statistics, List<Pause> pauses) {
        Map<EventStatus, Long> counts = statistics.byStatus();
        var oldest = statistics.oldestPendingAge();
        io.out()
                .println(table + " in " + target.database() + ": "
                        + counts.get(EventStatus.NEW) + " new, "
                        + counts.get(EventStatus.RETRY) + " to retry, "
                        + counts.get(EventStatus.DEAD) + " dead, "
                        + counts.get(EventStatus.DONE) + " done"
                        + (oldest == null ? "; nothing is pending" : "; the oldest waits " + TextTable.age(oldest)));
        for (Pause pause : pauses) {
            io.out()
                    .println(PrintableText.of("Paused: " + pause.scope() + " " + pause.name() + " since "
                            + pause.since() + " by " + pause.by() + ", " + pause.reason()));
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
