package outbox.cli;

import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

import java.util.List;

/** Takes a dead event out of the order of its aggregate, so that later events are delivered. */
@Command(
        name = "skip",
        mixinStandardHelpOptions = true,
        description = {
            "Takes dead events out of the order of their aggregates for good, so that later events go on.",
            "The events stay dead. See: outbox blocked."
        })
final class SkipCommand extends ChangeCommand {

    @Parameters(arity = "0..*", paramLabel = "EVENT", description = "ids of dead events; or a filter")
    private List<String> eventIds = List.of();

    SkipCommand(Io io) {
        super(io);
    }

    @Override
    void check(Target target) {
        target.requireEventTable("order");
    }

    @Override
    List<String> eventIds() {
        return eventIds;
    }

    @Override
    void checkBulk() {}

    @Override
    void complete(AdminRequest.Builder request) {}

    @Override
    AdminResult run(Target target, AdminRequest request) {
        return target.admin().skip(request);
    }

    @Override
    String verb() {
        return "Skip";
    }

    @Override
    String sql(ChangeSql sql, AdminRequest request) {
        return sql.skip(request.filter(), request.cap());
    }
}
