package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.admin.AdminResult;
import outbox.admin.PauseRequest;
import outbox.internal.text.PrintableText;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.Locale;
import java.util.Optional;

/** Stops the delivery of events on all nodes, or resumes it. */
abstract class PauseCommand extends RecordedCommand {

    @ArgGroup(multiplicity = "1")
    private Scope scope = new Scope();

    /** The scope of the pause: exactly one of these options. */
    static final class Scope {

        @Option(names = "--all", required = true, description = "all events of the table")
        private boolean all;

        @Option(names = "--type", required = true, paramLabel = "TYPE", description = "events of this type")
        private @Nullable String type;

        @Option(
                names = "--listener",
                required = true,
                paramLabel = "NAME",
                description = "events of this listener: its name, or AGGREGATE_TYPE:EVENT_TYPE")
        private @Nullable String listener;

        PauseRequest.Builder request() {
            if (type != null) {
                return PauseRequest.type(type);
            }
            return listener != null ? PauseRequest.listener(listener) : PauseRequest.outbox();
        }

        String words() {
            if (all) {
                return "all events";
            }
            return type != null ? "type " + type : "listener " + listener;
        }
    }

    private final String verb;
    private final String sql;

    private PauseCommand(Io io, String verb, String sql) {
        super(io);
        this.verb = verb;
        this.sql = sql;
    }

    abstract AdminResult run(Target target, PauseRequest request);

    @Override
    public final Integer call() throws Exception {
        PauseRequest.Builder request = scope.request().actor(change.actor()).reason(change.reason());
        change.requestId().ifPresent(request::requestId);
        Target target = database.changedTarget(io, table);
        target.requireEventTable("pauses");
        PauseRequest look = request.build();
        AdminResult found = run(target, look);
        String pauses = table.substring(0, table.indexOf('.') + 1) + "outbox_pause";
        String words = PrintableText.of(scope.words());
        String shown = sql + " " + pauses + " -- " + look.scope() + " " + PrintableText.of(look.name());
        Plan plan = new Plan(verb, table, shown, found.affected(), found.matched(), false, words);
        boolean wasMade = target.admin().audit(look.requestId()).isPresent();
        Optional<Integer> refused = wasMade ? Optional.empty() : change.confirm(io, plan);
        if (refused.isPresent()) {
            return refused.get();
        }
        AdminResult done =
                run(target, request.requestId(look.requestId()).confirmed(true).build());
        if (change.isJson()) {
            io.print(plan.answer(true)
                    .with("requestId", done.requestId())
                    .with("affected", done.affected())
                    .with("repeated", done.repeated()));
        } else {
            io.print((done.repeated() ? "Done before" : "Done") + ": " + verb.toLowerCase(Locale.ROOT) + " of " + words
                    + ". Audit record " + done.requestId() + ".");
        }
        return ExitCode.OK;
    }

    @Command(
            name = "pause",
            mixinStandardHelpOptions = true,
            description = {
                "Stops the delivery of all events, of a type or of a listener on all nodes, until it is resumed.",
                "Events go on being written and wait; no attempt counts. outbox status shows what is paused."
            })
    static final class Pause extends PauseCommand {

        Pause(Io io) {
            super(io, "Pause", "INSERT INTO");
        }

        @Override
        AdminResult run(Target target, PauseRequest request) {
            return target.admin().pause(request);
        }
    }

    @Command(
            name = "resume",
            mixinStandardHelpOptions = true,
            description = {
                "Ends a pause: of all events, of a type or of a listener.",
                "Each pause is for itself: a type stays paused while the whole table is resumed."
            })
    static final class Resume extends PauseCommand {

        Resume(Io io) {
            super(io, "Resume", "DELETE FROM");
        }

        @Override
        AdminResult run(Target target, PauseRequest request) {
            return target.admin().resume(request);
        }
    }
}
