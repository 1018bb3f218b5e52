package outbox.cli;

import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

import java.util.List;

/** Deletes dead events permanently. */
@Command(name = "discard", mixinStandardHelpOptions = true, description = "Deletes dead events for good.")
final class DiscardCommand extends ChangeCommand {

    @Parameters(arity = "0..*", paramLabel = "EVENT", description = "ids of events; or a filter")
    private List<String> eventIds = List.of();

    DiscardCommand(Io io) {
        super(io);
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
        return target.admin().discard(request);
    }

    @Override
    String verb() {
        return "Discard";
    }

    @Override
    String sql(ChangeSql sql, AdminRequest request) {
        return sql.discard(request.filter(), request.cap());
    }
}
