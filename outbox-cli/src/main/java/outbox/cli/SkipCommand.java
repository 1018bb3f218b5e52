package outbox.cli;

import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import picocli.CommandLine.Command;

/** Takes a dead event out of the order of its aggregate, so that later events are delivered. */
@Command(
        name = "skip",
        mixinStandardHelpOptions = true,
        description = {
            "Takes dead events out of the order of their aggregates for good, so that later events go on.",
            "The events stay dead. See: outbox blocked."
        })
final class SkipCommand extends EventsCommand {

    SkipCommand(Io io) {
        super(io, "Skip");
    }

    @Override
    void check(Target target) {
        target.requireEventTable("order");
    }

    @Override
    AdminResult run(Target target, AdminRequest request) {
        return target.admin().skip(request);
    }

    @Override
    String sql(ChangeSql sql, AdminRequest request) {
        return sql.skip(request.filter(), request.cap());
    }
}
