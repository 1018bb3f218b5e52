package outbox.cli;

import picocli.CommandLine.Option;

import java.util.Optional;

/** Who requests a change, and why, and whether it is confirmed. */
final class ChangeOptions extends RequestOptions {

    @Option(names = "--yes", description = "do it without asking")
    private boolean yes;

    @Option(names = "--dry-run", description = "only show what would be done")
    private boolean dryRun;

    @Option(names = "--json", description = "for programs; needs --yes or --dry-run")
    private boolean json;

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
