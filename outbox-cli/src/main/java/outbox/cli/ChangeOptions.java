package outbox.cli;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

import java.util.Optional;

/** The actor and the reason of a change, and whether it is confirmed. */
final class ChangeOptions {

    @Option(
            names = "--reason",
            required = true,
            paramLabel = "TEXT",
            description = "why; it is kept in the audit record")
    private String reason = "";

    @Option(names = "--actor", paramLabel = "NAME", description = "who; default: the user of this process")
    private String actor = System.getProperty("user.name", "unknown");

    @Option(
            names = "--request-id",
            paramLabel = "ID",
            description = "makes a repetition harmless: asked again with its id, a request changes nothing")
    private @Nullable String requestId;

    @Option(names = "--yes", description = "do it without asking")
    private boolean yes;

    @Option(names = "--dry-run", description = "only show what would be done")
    private boolean dryRun;

    @Option(names = "--json", description = "for programs; needs --yes or --dry-run")
    private boolean json;

    String reason() {
        return reason;
    }

    String actor() {
        return actor;
    }

    Optional<String> requestId() {
        return Optional.ofNullable(requestId);
    }

    boolean isJson() {
        return json;
    }

    /** Shows the plan and asks for confirmation. Returns empty if the change may be made, else the exit code. */
    Optional<Integer> confirm(Io io, Plan plan) {
        if (!json) {
            plan.print(io.out());
        }
        if (dryRun) {
            if (json) {
                io.print(plan.answer(false));
            }
            return Optional.of(ExitCode.OK);
        }
        if (plan.rows() == 0) {
            if (json) {
                io.print(plan.answer(false));
            }
            io.warn(plan.nothingToDo());
            return Optional.of(plan.isNamed() ? ExitCode.PROBLEM : ExitCode.OK);
        }
        if (yes || !json && io.confirms(plan.question())) {
            return Optional.empty();
        }
        if (json) {
            io.print(plan.answer(false));
        }
        io.warn("Nothing was changed. Confirm it on a terminal, or by --yes.");
        return Optional.of(ExitCode.NOT_CONFIRMED);
    }
}
