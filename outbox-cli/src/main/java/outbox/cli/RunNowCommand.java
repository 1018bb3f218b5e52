package outbox.cli;

import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import outbox.admin.EventFilter;
import picocli.CommandLine.Command;

/** Makes waiting events due now. */
@Command(
        name = "run-now",
        mixinStandardHelpOptions = true,
        description = {
            "Makes events due that wait for their time or for their next attempt. Attempts stay as they are.",
            "What a node holds is left alone. For a reconcile job: outbox reconcile run JOB."
        })
final class RunNowCommand extends EventsCommand {

    RunNowCommand(Io io) {
        super(io, "Run-now");
    }

    @Override
    void choose(AdminRequest.Builder request, EventFilter chosen) {
        request.unfinished(chosen);
    }

    @Override
    AdminResult run(Target target, AdminRequest request) {
        return target.admin().runNow(request);
    }

    @Override
    String sql(ChangeSql sql, AdminRequest request) {
        return sql.runNow(request.filter(), request.cap());
    }
}
