package outbox.cli;

import outbox.admin.AuditEntry;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.List;

/** Shows who changed what, and why. */
@Command(
        name = "audit",
        mixinStandardHelpOptions = true,
        description = "Lists the audit records of a table, the newest first: who changed which events, when and why.")
final class AuditCommand extends ReadCommand {

    private static final int SHOWN = 80;

    @Option(names = "--limit", defaultValue = "50", description = "records, 1 to 1000; default ${DEFAULT-VALUE}")
    private int limit;

    AuditCommand(Io io) {
        super(io);
    }

    @Override
    public Integer call() throws Exception {
        List<AuditEntry> entries = database.target(io, table).admin().audits(limit);
        if (json) {
            io.print(new Answer()
                    .with("table", table)
                    .with("entries", entries.stream().map(AuditCommand::answer).toList()));
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
                    TextTable.cut(entry.reason(), SHOWN),
                    TextTable.cut(entry.selection(), SHOWN));
        }
        rows.print(io.out());
        return ExitCode.OK;
    }

    private static Answer answer(AuditEntry entry) {
        return new Answer()
                .with("requestId", entry.requestId())
                .with("action", entry.action())
                .with("actor", entry.actor())
                .with("reason", entry.reason())
                .with("selection", entry.selection())
                .with("matched", entry.matched())
                .with("affected", entry.affected())
                .with("startedAt", entry.startedAt())
                .with("finishedAt", entry.finishedAt());
    }
}
