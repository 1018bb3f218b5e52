package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.admin.AdminResult;
import outbox.cli.doctor.TableKind;
import outbox.internal.text.PrintableText;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.reconcile.ReconcileAdmin;
import outbox.reconcile.ReconcileRequest;
import outbox.reconcile.ReconcileRun;
import outbox.reconcile.ReconcileStatus;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;

/**
 * The reconcile jobs of a table. Jobs are code of the application: the command requests a run, and the application
 * executes it.
 */
@Command(
        name = "reconcile",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "(list | run)",
        description = "Shows the reconcile jobs of applications and their runs, or asks for a run.")
final class ReconcileCommand {

    static CommandLine commandLine(Io io) {
        return new CommandLine(new ReconcileCommand())
                .addSubcommand(new Runs(io))
                .addSubcommand(new Request(io));
    }

    private static ReconcileAdmin admin(Target target, String table) {
        if (target.subject().kind() != TableKind.EVENT) {
            throw new SettingsException("Table " + table + " has the layout "
                    + target.subject().kind()
                    + ", for which no reconcile jobs are kept in the database. Look for them in"
                    + " the log and the metrics of the application.");
        }
        return new ReconcileAdmin(
                new DataSourceConnectionProvider(target.database()),
                target.subject().store());
    }

    private static Answer answer(ReconcileRun run) {
        return new Answer()
                .with("runId", run.runId())
                .with("job", run.job())
                .with("node", run.node())
                .with("startedAt", run.startedAt())
                .with("endedAt", run.endedAt())
                .with("found", run.found())
                .with("fixed", run.fixed())
                .with("checkpoint", run.checkpoint())
                .with("error", run.error())
                .with("dryRun", run.dryRun())
                .with("requestId", run.requestId());
    }

    private static void print(Io io, List<ReconcileRun> runs) {
        TextTable table = new TextTable("JOB", "STARTED", "ENDED", "NODE", "FOUND", "FIXED", "CHECKPOINT", "ERROR");
        for (ReconcileRun run : runs) {
            table.add(
                    run.job(),
                    run.startedAt(),
                    run.endedAt(),
                    run.node(),
                    run.found(),
                    run.dryRun() ? run.fixed() + " (dry run)" : run.fixed(),
                    run.checkpoint(),
                    TextTable.cut(run.error(), 80));
        }
        table.print(io.out());
    }

    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description = "Lists the jobs, and their latest runs on all nodes, the newest first.")
    static final class Runs extends ReadCommand {

        @Option(names = "--job", paramLabel = "NAME", description = "runs of this job only")
        private @Nullable String job;

        @Option(names = "--limit", defaultValue = "20", description = "runs, 1 to 1000; default ${DEFAULT-VALUE}")
        private int limit;

        Runs(Io io) {
            super(io);
        }

        @Override
        public Integer call() throws Exception {
            ReconcileAdmin admin = admin(database.target(io, table), table);
            List<ReconcileStatus> jobs = admin.jobs();
            List<ReconcileRun> runs = admin.runs(job, limit);
            if (json) {
                io.print(new Answer()
                        .with("table", table)
                        .with("jobs", jobs.stream().map(Runs::answerOf).toList())
                        .with(
                                "runs",
                                runs.stream().map(ReconcileCommand::answer).toList()));
                return ExitCode.OK;
            }
            if (jobs.isEmpty()) {
                io.warn("No node has made a reconcile job known for table " + table + ".");
                return ExitCode.OK;
            }
            TextTable rows = new TextTable("JOB", "SCHEDULE", "NEXT", "CHECKPOINT", "COMPLETE", "RUN", "REQUEST");
            for (ReconcileStatus status : jobs) {
                rows.add(
                        status.job(),
                        status.schedule(),
                        status.nextAt(),
                        status.checkpoint(),
                        status.sweptAt(),
                        status.runId(),
                        status.requestId());
            }
            rows.print(io.out());
            io.out().println();
            print(io, runs);
            return ExitCode.OK;
        }

        private static Answer answerOf(ReconcileStatus status) {
            return new Answer()
                    .with("job", status.job())
                    .with("schedule", status.schedule())
                    .with("nextAt", status.nextAt())
                    .with("checkpoint", status.checkpoint())
                    .with("sweptAt", status.sweptAt())
                    .with("runId", status.runId())
                    .with("leaseUntil", status.leaseUntil())
                    .with("requestId", status.requestId());
        }
    }

    @Command(
            name = "run",
            mixinStandardHelpOptions = true,
            description = "Asks the application that has the job for a run now, and waits for it.")
    static final class Request implements Callable<Integer> {

        private static final Duration LONGEST_WAIT = Duration.ofHours(1);
        private static final Duration LOOK_EVERY = Duration.ofMillis(200);

        private final Io io;

        @Mixin
        private DatabaseOptions database = new DatabaseOptions();

        @Parameters(arity = "1", paramLabel = "JOB", description = "name of the job")
        private String job = "";

        @Option(names = "--table", required = true, description = "the table; always named")
        private String table = "";

        @Mixin
        private RequestOptions request = new RequestOptions();

        @Option(names = "--yes", description = "let it write events without asking")
        private boolean yes;

        @Option(names = "--dry-run", description = "the application only counts what it would write")
        private boolean dryRun;

        @Option(
                names = "--wait",
                paramLabel = "TIME",
                defaultValue = "60s",
                description = "how long to wait for the run to end, 0s to 1h; default ${DEFAULT-VALUE}")
        private String wait = "";

        @Option(names = "--json", description = "for programs; needs --yes or --dry-run")
        private boolean json;

        private String requestId = UUID.randomUUID().toString(); // unless one is given

        Request(Io io) {
            this.io = io;
        }

        @Override
        public Integer call() throws Exception {
            Duration patience = Durations.parse("--wait", wait);
            if (patience.compareTo(LONGEST_WAIT) > 0) {
                throw new SettingsException("--wait must be at most 1h, but is " + wait);
            }
            if (yes && dryRun) {
                throw new SettingsException("--yes and --dry-run exclude each other; leave out one of them.");
            }
            requestId = request.requestId().orElse(requestId);
            ReconcileAdmin admin = admin(database.changedTarget(io, table), table);
            if (!dryRun && !yes && (json || !asked())) {
                io.warn("Nothing was changed. Confirm it on a terminal, or by --yes; or ask for a --dry-run.");
                return ExitCode.NOT_CONFIRMED;
            }
            AdminResult result;
            try {
                result = admin.request(ReconcileRequest.job(job)
                        .actor(request.actor())
                        .reason(request.reason())
                        .requestId(requestId)
                        .confirmed(!dryRun)
                        .build());
            } catch (IllegalStateException e) { // another request is waiting
                io.warn(PrintableText.of(String.valueOf(e.getMessage())));
                return ExitCode.PROBLEM;
            }
            if (result.repeated()) {
                io.warn("Request " + requestId + " was made before; nothing was added.");
            }
            return report(awaitEnd(admin, patience), patience.isZero());
        }

        private boolean asked() {
            return io.confirms("Let job " + job + " write the events into " + table + " that it finds missing?");
        }

        /** The progress of the request. */
        private record Progress(boolean over, Optional<ReconcileRun> run) {}

        private Progress awaitEnd(ReconcileAdmin admin, Duration patience) {
            long start = System.nanoTime();
            Progress progress = progress(admin);
            while (!progress.over() && System.nanoTime() - start < patience.toNanos() && !Thread.interrupted()) {
                LockSupport.parkNanos(LOOK_EVERY.toNanos());
                progress = progress(admin);
            }
            return progress;
        }

        /**
         * Reads the request first, then the run. An interrupted run may end before its request does. When the request
         * no longer waits, the run that is read afterwards is the last one.
         */
        private Progress progress(ReconcileAdmin admin) {
            boolean waits = admin.jobs().stream().anyMatch(status -> requestId.equals(status.requestId()));
            Optional<ReconcileRun> run = admin.run(requestId);
            return new Progress(!waits && isEnded(run), run);
        }

        private static boolean isEnded(Optional<ReconcileRun> run) {
            return run.map(ReconcileRun::endedAt).isPresent();
        }

        private int report(Progress progress, boolean onlyAsked) {
            Optional<ReconcileRun> run = progress.run();
            if (json) {
                io.print(new Answer()
                        .with("table", table)
                        .with("requestId", requestId)
                        .with("over", progress.over())
                        .with("run", run.map(ReconcileCommand::answer).orElse(null)));
            } else if (run.isPresent()) {
                print(io, List.of(run.get()));
            }
            if (progress.over()) {
                return run.map(ReconcileRun::error).isPresent() ? ExitCode.PROBLEM : ExitCode.OK;
            }
            io.warn("Request " + requestId + " waits: " + why(run) + " See: outbox reconcile list --table " + table);
            return onlyAsked ? ExitCode.OK : ExitCode.PROBLEM;
        }

        private static String why(Optional<ReconcileRun> run) {
            if (run.isEmpty()) {
                return "no application has begun its run yet. Does one with this job run?";
            }
            return isEnded(run)
                    ? "its run was cut short, and the next one is to go on. Does an application with this job run?"
                    : "its run has not ended yet.";
        }
    }
}
