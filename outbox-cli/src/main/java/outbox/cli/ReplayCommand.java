package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Makes dead events pending again, and delivered events if the status option selects them. */
@Command(
        name = "replay",
        mixinStandardHelpOptions = true,
        description = {
            "Makes dead events pending again, or delivered ones with --status DONE.",
            "With --status RETRY, events that are named by their ids are due at once, with no attempt made.",
            "Consumers must be idempotent by event id: a replay may deliver once more what was delivered."
        })
final class ReplayCommand extends EventsCommand {

    @Option(names = "--rate", paramLabel = "N", description = "events per second; needed with a filter")
    private @Nullable Integer rate;

    @Option(names = "--to-listener", paramLabel = "NAME", description = "the only listener that may receive them")
    private @Nullable String listener;

    ReplayCommand(Io io) {
        super(io, "Replay");
    }

    @Override
    void checkBulk() {
        if (rate == null) {
            throw new SettingsException("A filter needs --rate N: how many events become due per second.");
        }
    }

    @Override
    void complete(AdminRequest.Builder request) {
        if (rate != null) {
            request.eventsPerSecond(rate);
        }
        if (listener != null) {
            request.toListener(listener);
        }
    }

    @Override
    AdminResult run(Target target, AdminRequest request) {
        return target.admin().replay(request);
    }

    @Override
    String sql(ChangeSql sql, AdminRequest request) {
        return sql.replay(request.filter(), request.cap(), rate == null ? 0 : rate);
    }
}
