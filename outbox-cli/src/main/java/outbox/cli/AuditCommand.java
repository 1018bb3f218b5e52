package outbox.cli;

import outbox.admin.AuditEntry;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.util.List;
import java.util.concurrent.Callable;

/** Shows who changed what, and why. */
@Command(
        name = "audit",
        mixinStandardHelpOptions = true,
        description = "Lists the audit records of a table, the newest first: who changed which events, when and why.")
final class AuditCommand implements Callable<Integer> {

    private static final int SHOWN = 80;

    private final Io io;

    @Mixin
    private DatabaseOptions database = new DatabaseOptions();

    @Option(names = "--table", defaultValue = "outbox_event", description = "default ${DEFAULT-VALUE}")
    private String table = "";

    @Option(names = "--limit", defaultValue = "50", description = "records, 1 to 1000; default ${DEFAULT-VALUE}")
    private int limit;

    @Option(names = "--json", description = "for programs")
    private boolean json;

    AuditCommand(Io io) {
        this.io = io;
    }

    @Override
    public Integer call() throws Exception {
        List<AuditEntry> entries = database.target(io, table).admin().audits(limit);
        if (json) {
            io.out()
                    .println(Json.pretty(new Answer()
                            .with("table", table)
                            .with(
                                    "entries",
                                    entries.stream().map(AuditCommand::answer).toList())
                            .map()));
            return ExitCode.OK;
        }
        TextTable rows =
                new TextTable("STARTED", "ACTION", "ACTOR", "CHANGED", "FINISHED", "REQUEST", "REASON", "EVENTS");
        for (AuditEntry entry : entries) {
            rows.add(
                    entry.startedAt(),
                    entry.action(),
                    entry.actor(),
                    entry.affected() + " of " + entry.matched(),
                    entry.finishedAt() == null ? "no" : entry.finishedAt(),
                    entry.requestId(),
                    cut(entry.reason()),
                    cut(entry.selection()));
        }
        rows.print(io.out());
        return ExitCode.OK;
    }

    private static Object answer(AuditEntry entry) {
        return new Answer()
                .with("requestId", entry.requestId())
                .with("action", entry.action())
                .with("actor", entry.actor())
                .with("reason", entry.reason())
                .with("selection", entry.selection())
                .with("matched", entry.matched())
                .with("affected", entry.affected())
                .with("startedAt", entry.startedAt())
                .with("finishedAt", entry.finishedAt())
                .map();
    }

    private static String cut(String text) {
        return text.length() <= SHOWN ? text : text.substring(0, SHOWN) + "…";
    }
}
