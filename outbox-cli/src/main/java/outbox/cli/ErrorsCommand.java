package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import outbox.admin.EventFilter;
import outbox.admin.OutboxAdmin.ErrorGroup;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.util.List;

/** Groups dead events by their errors: many dead events usually have one cause. */
@Command(
        name = "errors",
        mixinStandardHelpOptions = true,
        description = {
            "Groups dead events by their errors, without identifiers, numbers and quoted values.",
            "With replay or discard: changes all events of one group."
        })
final class ErrorsCommand extends ReadCommand {

    private static final int SHOWN_ERROR = 80;
    private static final int SHOWN_TYPES = 3;

    @Mixin
    private FilterOptions filter = new FilterOptions();

    private ErrorsCommand(Io io) {
        super(io);
    }

    static CommandLine commandLine(Io io) {
        return new CommandLine(new ErrorsCommand(io))
                .addSubcommand(new Replay(io))
                .addSubcommand(new Discard(io));
    }

    @Override
    public Integer call() throws Exception {
        EventFilter chosen = filter.filter();
        List<ErrorGroup> groups = database.target(io, table).admin().errors(chosen);
        if (json) {
            io.print(new Answer()
                    .with("table", table)
                    .with("groups", groups.stream().map(ErrorsCommand::answer).toList()));
        } else if (groups.isEmpty()) {
            io.warn("No event of " + table + " is dead.");
        } else {
            print(groups);
        }
        return ExitCode.OK;
    }

    private static Answer answer(ErrorGroup group) {
        return new Answer()
                .with("fingerprint", group.fingerprint())
                .with("count", group.count())
                .with("eventTypes", group.eventTypes())
                .with("oldest", group.oldest())
                .with("newest", group.newest())
                .with("exampleId", group.exampleId())
                .with("error", group.error());
    }

    private void print(List<ErrorGroup> groups) {
        TextTable rows = new TextTable("FINGERPRINT", "EVENTS", "TYPES", "OLDEST", "NEWEST", "EXAMPLE", "ERROR");
        for (ErrorGroup group : groups) {
            rows.add(
                    group.fingerprint(),
                    group.count(),
                    types(group.eventTypes()),
                    group.oldest(),
                    group.newest(),
                    group.exampleId(),
                    TextTable.cut(group.error(), SHOWN_ERROR));
        }
        rows.print(io.out());
        io.warn("Repair a cause, then: outbox errors replay FINGERPRINT --table " + table
                + " --cap N --rate N --reason TEXT");
    }

    private static String types(List<String> types) {
        String first = String.join(", ", types.subList(0, Math.min(SHOWN_TYPES, types.size())));
        return types.size() <= SHOWN_TYPES ? first : first + " and " + (types.size() - SHOWN_TYPES) + " more";
    }

    /** Changes the events of a group. */
    private abstract static class GroupCommand extends ChangeCommand {

        @Parameters(index = "0", paramLabel = "FINGERPRINT", description = "the group, as outbox errors shows it")
        String fingerprint = "";

        GroupCommand(Io io, String verb) {
            super(io, verb);
        }

        @Override
        List<String> eventIds() {
            return List.of();
        }

        @Override
        boolean isNarrow() {
            return true;
        }

        @Override
        void complete(AdminRequest.Builder request) {
            request.errorFingerprint(fingerprint);
        }
    }

    /** Replays the events of a group. */
    @Command(
            name = "replay",
            mixinStandardHelpOptions = true,
            description = {
                "Makes the dead events of one group of errors pending again.",
                "Consumers must be idempotent by event id: a replay may deliver once more what was delivered."
            })
    static final class Replay extends GroupCommand {

        @Option(names = "--rate", paramLabel = "N", description = "events per second; always needed")
        private @Nullable Integer rate;

        Replay(Io io) {
            super(io, "Replay");
        }

        @Override
        void checkBulk() {
            if (rate == null) {
                throw new SettingsException("A group needs --rate N: how many events become due per second.");
            }
        }

        @Override
        void complete(AdminRequest.Builder request) {
            super.complete(request);
            if (rate != null) {
                request.eventsPerSecond(rate);
            }
        }

        @Override
        AdminResult run(Target target, AdminRequest request) {
            return target.admin().replay(request);
        }

        @Override
        String sql(ChangeSql sql, AdminRequest request) {
            return ChangeSql.ofGroup(sql.replay(request.filter(), request.cap(), rate == null ? 0 : rate), fingerprint);
        }
    }

    /** Deletes the events of a group permanently. */
    @Command(
            name = "discard",
            mixinStandardHelpOptions = true,
            description = "Deletes the dead events of one group of errors for good.")
    static final class Discard extends GroupCommand {

        Discard(Io io) {
            super(io, "Discard");
        }

        @Override
        AdminResult run(Target target, AdminRequest request) {
            return target.admin().discard(request);
        }

        @Override
        String sql(ChangeSql sql, AdminRequest request) {
            return ChangeSql.ofGroup(sql.discard(request.filter(), request.cap()), fingerprint);
        }
    }
}
