package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import outbox.admin.EventFilter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;

/**
 * Changes finished events: those that are named, or those that a filter finds, which then needs a cap. The way is that of the runbook: shown first, confirmed, done once, recorded in
 * outbox_audit.
 */
abstract class ChangeCommand implements Callable<Integer> {

    final Io io;

    @Mixin
    private DatabaseOptions database = new DatabaseOptions();

    @Mixin
    private FilterOptions filter = new FilterOptions();

    @Mixin
    private ChangeOptions change = new ChangeOptions();

    @Option(names = "--table", required = true, description = "the table; always named")
    private String table = "";

    @Option(names = "--cap", paramLabel = "N", description = "how many events at most; needed with a filter")
    private @Nullable Integer cap;

    @Parameters(arity = "0..*", paramLabel = "EVENT", description = "ids of events; or a filter")
    private List<String> eventIds = List.of();

    ChangeCommand(Io io) {
        this.io = io;
    }

    /** Refuses what the command needs for many events and was not given. */
    abstract void checkBulk();

    /** Adds what only this command has. */
    abstract void complete(AdminRequest.Builder request);

    abstract AdminResult run(Target target, AdminRequest request);

    abstract String verb();

    abstract String sql(ChangeSql sql, AdminRequest request);

    @Override
    public final Integer call() throws Exception {
        AdminRequest.Builder request = request();
        Target target = database.changedTarget(io, table);
        target.requireMaxAttempts();
        AdminRequest look = request.build();
        AdminResult found = run(target, look);
        String sql = sql(new ChangeSql(target.subject()), look);
        Plan plan = new Plan(verb(), table, sql, found.affected(), found.matched(), !eventIds.isEmpty());
        Optional<Integer> refused = target.admin().audit(look.requestId()).isPresent()
                ? Optional.<Integer>empty() // it was done before: asking again only tells
                : change.confirm(io, plan);
        if (refused.isPresent()) {
            return refused.get();
        }
        AdminResult done =
                run(target, request.requestId(look.requestId()).confirmed(true).build());
        report(plan, done);
        return done.complete() ? ExitCode.OK : ExitCode.PROBLEM;
    }

    private AdminRequest.Builder request() {
        AdminRequest.Builder request =
                AdminRequest.builder().actor(change.actor()).reason(change.reason());
        change.requestId().ifPresent(request::requestId);
        EventFilter.Builder conditions = filter.builder();
        if (!eventIds.isEmpty()) {
            request.filter(conditions.eventIds(eventIds).build());
            request.cap(cap == null ? eventIds.size() : cap);
        } else {
            requireBulk();
            request.filter(conditions.build()).cap(cap == null ? 0 : cap);
        }
        complete(request);
        return request;
    }

    private void requireBulk() {
        if (!filter.isNarrow()) {
            throw new SettingsException("Name the events, or give a filter beside the status: --type, --aggregate-type,"
                    + " --aggregate-id, --key, --error, --from or --before.");
        }
        if (cap == null) {
            throw new SettingsException("A filter needs --cap N: how many events are changed at most.");
        }
        checkBulk();
    }

    private void report(Plan plan, AdminResult done) {
        if (change.isJson()) {
            io.out()
                    .println(Json.pretty(plan.answer(true)
                            .with("requestId", done.requestId())
                            .with("affected", done.affected())
                            .with("complete", done.complete())
                            .with("repeated", done.repeated())
                            .map()));
        } else {
            io.out()
                    .println((done.repeated() ? "Done before" : "Done") + ": " + done.affected()
                            + " events. Audit record " + done.requestId() + ".");
        }
    }
}
