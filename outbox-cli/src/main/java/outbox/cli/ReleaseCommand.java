package outbox.cli;

import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import outbox.admin.EventFilter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.time.Duration;
import java.util.Optional;

/** Ends the leases of a node that no longer runs. */
@Command(
        name = "release",
        mixinStandardHelpOptions = true,
        description = {
            "Ends the leases of a node that is gone, so that others claim its events at once.",
            "Refuses a node that has claimed or renewed an event within --silent-for. A node that was only frozen can"
                    + " mark nothing afterwards, but may deliver an event a second time."
        })
final class ReleaseCommand extends RecordedCommand {

    @Parameters(index = "0", paramLabel = "NODE", description = "the node, as outbox nodes shows it")
    private String node = "";

    @Option(
            names = "--silent-for",
            paramLabel = "TIME",
            defaultValue = "2m",
            description = "how long the node must have been silent; more than a third of its lease, which is how often"
                    + " a living node renews; default ${DEFAULT-VALUE}")
    private String silentFor = "";

    ReleaseCommand(Io io) {
        super(io);
    }

    @Override
    public Integer call() throws Exception {
        Duration silence = Durations.parse("--silent-for", silentFor);
        if (silence.isZero()) {
            throw new SettingsException("--silent-for must be more than 0: a node that lives claims at any time.");
        }
        Target target = database.changedTarget(io, table);
        target.requireEventTable("names of nodes at its claims");
        EventFilter claims = EventFilter.builder()
                .claimedBy(node)
                .claimedBefore(target.now().minus(silence))
                .build();
        AdminRequest.Builder request = AdminRequest.builder()
                .actor(change.actor())
                .reason(change.reason())
                .unfinished(claims)
                .cap(AdminRequest.MAX_CAP);
        change.requestId().ifPresent(request::requestId);
        try {
            return run(target, request);
        } catch (IllegalStateException e) { // the node is alive
            io.warn(io.secrets().hide(String.valueOf(e.getMessage())));
            return ExitCode.PROBLEM;
        }
    }

    private int run(Target target, AdminRequest.Builder request) {
        AdminRequest look = request.build();
        AdminResult found = target.admin().release(look);
        String sql = new ChangeSql(target.subject()).release(look.filter());
        Plan plan = new Plan("Release", table, sql, found.affected(), found.matched(), true);
        Optional<Integer> refused = change.confirm(io, plan);
        if (refused.isPresent()) {
            return refused.get();
        }
        AdminResult done = target.admin()
                .release(request.requestId(look.requestId()).confirmed(true).build());
        if (change.isJson()) {
            io.print(plan.answer(true)
                    .with("requestId", done.requestId())
                    .with("affected", done.affected())
                    .with("complete", done.complete()));
        } else {
            io.print("Done: " + done.affected() + " events. Audit record " + done.requestId() + ".");
        }
        return ExitCode.OK;
    }
}
