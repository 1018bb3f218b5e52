package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.admin.AdminRequest;
import outbox.admin.AdminRequestFailedException;
import outbox.admin.AdminResult;
import outbox.admin.EventFilter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Changes events: those named by id, or those that match a filter. A filter needs a cap. The command follows the
 * runbook: it shows the plan, asks for confirmation, makes the change once, and records it in outbox_audit. If it is
 * interrupted, it reports how many events it changed and prints the command that continues.
 */
abstract class ChangeCommand extends RecordedCommand {

    @Mixin
    private FilterOptions filter = new FilterOptions();

    @Option(names = "--cap", paramLabel = "N", description = "how many events at most; needed with a filter")
    private @Nullable Integer cap;

    @Option(
            names = "--continue",
            description = "go on with the request of --request-id, which was not finished; what it changed stays as"
                    + " it is")
    private boolean isContinuing;

    @Spec
    private CommandSpec spec = CommandSpec.create(); // replaced by picocli

    private final String verb;

    /** @param verb the name of the change in messages */
    ChangeCommand(Io io, String verb) {
        super(io);
        this.verb = verb;
    }

    /** The ids of the named events; empty if a filter selects the events. */
    abstract List<String> eventIds();

    /** Refuses a bulk change if an option that it needs is missing. */
    void checkBulk() {}

    /** Whether the command itself selects the events, so that no filter is needed. */
    boolean isNarrow() {
        return false;
    }

    /** Sets the filter of the request. */
    void choose(AdminRequest.Builder request, EventFilter chosen) {
        request.filter(chosen);
    }

    /** Sets the fields of the request that are specific to this command. */
    void complete(AdminRequest.Builder request) {}

    abstract AdminResult run(Target target, AdminRequest request);

    abstract String sql(ChangeSql sql, AdminRequest request);

    /** Refuses a table whose layout does not support this change. */
    void check(Target target) {}

    @Override
    public final Integer call() throws Exception {
        AdminRequest.Builder request = request();
        if (isContinuing && change.requestId().isEmpty()) {
            throw new SettingsException("--continue needs --request-id: the id of the request that was not finished.");
        }
        Target target = database.changedTarget(io, table);
        check(target);
        target.requireMaxAttempts();
        AdminRequest look = request.build();
        AdminResult found = run(target, look);
        String sql = sql(new ChangeSql(target.subject()), look);
        Plan plan = new Plan(
                verb, table, sql, found.affected(), found.matched(), !eventIds().isEmpty());
        boolean wasMade = target.admin().audit(look.requestId()).isPresent();
        if (isContinuing && !wasMade) {
            throw new SettingsException(
                    "There is no request " + look.requestId() + " to go on with. Leave out --continue.");
        }
        Optional<Integer> refused = wasMade && !isContinuing
                ? Optional.<Integer>empty() // already made: nothing to confirm, the result is only reported
                : change.confirm(io, plan);
        if (refused.isPresent() && !(isContinuing && plan.rows() == 0)) {
            return refused.get();
        }
        request.requestId(look.requestId()).confirmed(true).continuing(isContinuing);
        try (StopSignal stop = new StopSignal()) {
            AdminResult done = run(target, request.stopWhen(stop).build());
            report(plan, done, Math.min(done.matched(), look.cap()));
            return done.complete() ? ExitCode.OK : ExitCode.PROBLEM;
        } catch (AdminRequestFailedException e) {
            if (e.affected() == 0 && !isContinuing) {
                throw e;
            }
            io.warn(io.secrets().hide(String.valueOf(e.getMessage())));
            long total = plan.rows() + (isContinuing ? e.affected() : 0);
            report(
                    plan,
                    new AdminResult(e.requestId(), found.action(), false, found.matched(), e.affected(), false, false),
                    total);
            return ExitCode.FAILED;
        }
    }

    private AdminRequest.Builder request() {
        AdminRequest.Builder request =
                AdminRequest.builder().actor(change.actor()).reason(change.reason());
        change.requestId().ifPresent(request::requestId);
        EventFilter.Builder conditions = filter.builder();
        if (!eventIds().isEmpty()) {
            choose(request, conditions.eventIds(eventIds()).build());
            request.cap(cap == null ? eventIds().size() : cap);
        } else {
            requireBulk();
            if (!filter.isNarrow() && !filter.hasStatus()) {
                choose(request, EventFilter.all());
            } else {
                choose(request, conditions.build());
            }
            request.cap(cap == null ? 0 : cap);
        }
        complete(request);
        return request;
    }

    private void requireBulk() {
        if (!filter.isNarrow() && !isNarrow()) {
            throw new SettingsException("Name the events, or give a filter other than the status: --type,"
                    + " --aggregate-type, --aggregate-id, --tenant, --key, --error, --from or --before.");
        }
        if (cap == null) {
            throw new SettingsException("A filter needs --cap N: how many events are changed at most.");
        }
        checkBulk();
    }

    private void report(Plan plan, AdminResult done, long total) {
        String goOn = done.complete()
                ? null
                : ShellWords.continuing(
                        spec.root().commandLine().getParseResult().originalArgs(), done.requestId(), io.secrets());
        if (change.isJson()) {
            io.print(plan.answer(true)
                    .with("requestId", done.requestId())
                    .with("affected", done.affected())
                    .with("total", total)
                    .with("complete", done.complete())
                    .with("repeated", done.repeated())
                    .with("continueWith", goOn));
        } else if (goOn != null) {
            io.print(String.format(
                    Locale.ROOT, "%,d of %,d done, not finished; go on with: %s", done.affected(), total, goOn));
        } else {
            io.print((done.repeated() ? "Done before" : "Done") + ": " + done.affected() + " events. Audit record "
                    + done.requestId() + ".");
        }
    }
}
