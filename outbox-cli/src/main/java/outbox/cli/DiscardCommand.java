package outbox.cli;

import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import picocli.CommandLine.Command;

/** Deletes dead events permanently. */
@Command(name = "discard", mixinStandardHelpOptions = true, description = "Deletes dead events for good.")
final class DiscardCommand extends EventsCommand {

    DiscardCommand(Io io) {
        super(io, "Discard");
    }

    @Override
    AdminResult run(Target target, AdminRequest request) {
        return target.admin().discard(request);
    }

    @Override
    String sql(ChangeSql sql, AdminRequest request) {
        return sql.discard(request.filter(), request.cap());
    }
}
