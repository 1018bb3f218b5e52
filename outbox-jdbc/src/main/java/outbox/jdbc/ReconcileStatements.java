package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.reconcile.ReconcileLog.Turn;
import outbox.reconcile.ReconcileRun;
import outbox.reconcile.ReconcileStatus;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Which node runs which reconcile job, and the results, in two side tables that all outbox tables of a schema share.
 * The row of a job names its current run. Every change of the row has that run in its WHERE clause; if it changes no
 * row, another node has taken over the job.
 */
final class ReconcileStatements {

    private static final String LOST = "The node was lost, or took longer than the lease of its run";

    private static final String JOB_COLUMNS = "outbox_table, job, schedule, next_at, checkpoint, sweep_at, swept_at,"
            + " run_id, lease_until, request_id, requested_at, requested_by, request_dry";
    private static final String RUN_COLUMNS = "run_id, outbox_table, job, node, started_at, ended_at, found, fixed,"
            + " checkpoint, error, dry_run, request_id";
    private static final String NEEDED_FOR = "no reconcile job can write events";

    static final String JOBS = "outbox_reconcile_job";
    static final String RUNS = "outbox_reconcile";

    private final SideTable jobs;
    private final SideTable runs;

    ReconcileStatements(JdbcTable store) {
        this.jobs = new SideTable(store, JOBS, Capability.RECONCILE, NEEDED_FOR, List.of(JOB_COLUMNS.split(", ")));
        this.runs = new SideTable(store, RUNS, Capability.RECONCILE, NEEDED_FOR, List.of(RUN_COLUMNS.split(", ")));
    }

    private String owner() {
        return jobs.owner();
    }

    boolean exist(Connection conn) throws SQLException {
        return jobs.exists(conn) && runs.exists(conn);
    }

    void add(Connection conn, String job, String schedule, Instant nextAt) throws SQLException {
        // Binds: schedule, next_at, outbox_table, job, schedule.
        String change = "UPDATE %s SET schedule = ?, next_at = ? WHERE outbox_table = ? AND job = ? AND schedule <> ?"
                .formatted(jobs.name());
        int changed = jobs.update(
                conn,
                change,
                binder -> binder.text(schedule)
                        .time("next_at", nextAt)
                        .text(owner())
                        .text(job)
                        .text(schedule));
        if (changed > 0 || isKnown(conn, job)) {
            return;
        }
        jobs.insert( // does nothing if another node was first
                conn,
                "outbox_table, job, schedule, next_at",
                binder -> binder.text(owner()).text(job).text(schedule).time("next_at", nextAt));
    }

    private boolean isKnown(Connection conn, String job) throws SQLException {
        return all(conn).stream().anyMatch(status -> status.job().equals(job));
    }

    List<ReconcileStatus> all(Connection conn) throws SQLException {
        // Binds: outbox_table.
        String sql = """
                SELECT job, schedule, next_at, checkpoint, swept_at, run_id, lease_until, request_id
                  FROM %s
                 WHERE outbox_table = ?
                 ORDER BY job
                """.formatted(jobs.name());
        return jobs.query(
                conn,
                sql,
                binder -> binder.text(owner()),
                (row, columns) -> new ReconcileStatus(
                        row.getString("job"),
                        row.getString("schedule"),
                        Objects.requireNonNull(columns.read(row, "next_at")),
                        row.getString("checkpoint"),
                        columns.read(row, "swept_at"),
                        row.getString("run_id"),
                        columns.read(row, "lease_until"),
                        row.getString("request_id")));
    }

    /** The row of a job, which this transaction has locked. */
    private record Job(
            Instant nextAt,
            @Nullable String checkpoint,
            @Nullable Instant sweepAt,
            @Nullable Instant sweptAt,
            @Nullable String runId,
            @Nullable Instant leaseUntil,
            @Nullable String requestId,
            boolean requestDry) {}

    Optional<Turn> begin(Connection conn, ReconcileRun wanted, Instant expired, Instant leaseUntil, boolean anyTime)
            throws SQLException {
        Optional<Job> locked = lock(conn, wanted.job());
        if (locked.isEmpty()) {
            return Optional.empty();
        }
        Job job = locked.get();
        boolean isFree = job.leaseUntil == null || job.leaseUntil.isBefore(expired);
        String requestId = anyTime ? null : job.requestId;
        if (!isFree || !anyTime && requestId == null && job.nextAt.isAfter(wanted.startedAt())) {
            return Optional.empty();
        }
        if (job.runId != null) {
            markEnded(conn, job.runId, wanted.startedAt(), LOST);
        }
        boolean dryRun = wanted.dryRun() || requestId != null && job.requestDry;
        Instant sweepAt = job.checkpoint == null || job.sweepAt == null ? wanted.startedAt() : job.sweepAt;
        ReconcileRun run = new ReconcileRun(
                wanted.runId(),
                wanted.job(),
                wanted.node(),
                wanted.startedAt(),
                null,
                0,
                0,
                job.checkpoint,
                null,
                dryRun,
                requestId);
        take(conn, run, leaseUntil, dryRun ? job.sweepAt : sweepAt);
        insert(conn, run);
        return Optional.of(new Turn(run, job.checkpoint, sweepAt, job.sweptAt));
    }

    /** Locks the row of a job. Waits for a transaction that writes a batch of this job or begins a run. */
    private Optional<Job> lock(Connection conn, String job) throws SQLException {
        // Binds: outbox_table, job.
        String sql = """
                SELECT next_at, checkpoint, sweep_at, swept_at, run_id, lease_until, request_id, request_dry
                  FROM %s
                 WHERE outbox_table = ?
                   AND job = ?
                   FOR UPDATE
                """.formatted(jobs.name());
        return jobs.first(
                conn,
                sql,
                binder -> binder.text(owner()).text(job),
                (row, columns) -> new Job(
                        Objects.requireNonNull(columns.read(row, "next_at")),
                        row.getString("checkpoint"),
                        columns.read(row, "sweep_at"),
                        columns.read(row, "swept_at"),
                        row.getString("run_id"),
                        columns.read(row, "lease_until"),
                        row.getString("request_id"),
                        row.getInt("request_dry") == 1));
    }

    /** The counts are already stored. Those in memory may be older than the committed ones. */
    private void markEnded(Connection conn, String runId, @Nullable Instant endedAt, @Nullable String error)
            throws SQLException {
        // Binds: ended_at, error, run_id.
        String sql =
                "UPDATE %s SET ended_at = ?, error = ? WHERE run_id = ? AND ended_at IS NULL".formatted(runs.name());
        runs.update(
                conn,
                sql,
                binder -> binder.time("ended_at", endedAt).text(error).text(runId));
    }

    private void take(Connection conn, ReconcileRun run, Instant leaseUntil, @Nullable Instant sweepAt)
            throws SQLException {
        // Binds: run_id, lease_until, sweep_at, outbox_table, job.
        String sql = "UPDATE %s SET run_id = ?, lease_until = ?, sweep_at = ? WHERE outbox_table = ? AND job = ?"
                .formatted(jobs.name());
        jobs.update(
                conn,
                sql,
                binder -> binder.text(run.runId())
                        .time("lease_until", leaseUntil)
                        .time("sweep_at", sweepAt)
                        .text(owner())
                        .text(run.job()));
    }

    private void insert(Connection conn, ReconcileRun run) throws SQLException {
        // Binds: run_id, outbox_table, job, node, started_at, checkpoint, dry_run, request_id.
        String sql = """
                INSERT INTO %s (run_id, outbox_table, job, node, started_at, found, fixed, checkpoint, dry_run, request_id)
                VALUES (?, ?, ?, ?, ?, 0, 0, ?, ?, ?)
                """.formatted(runs.name());
        runs.update(
                conn,
                sql,
                binder -> binder.text(run.runId())
                        .text(owner())
                        .text(run.job())
                        .text(run.node())
                        .time("started_at", run.startedAt())
                        .text(run.checkpoint())
                        .smallNumber(run.dryRun() ? 1 : 0)
                        .text(run.requestId()));
    }

    boolean keep(Connection conn, ReconcileRun run, Instant leaseUntil) throws SQLException {
        // Binds: lease_until, outbox_table, job, run_id.
        String sql = "UPDATE %s SET lease_until = ? WHERE outbox_table = ? AND job = ? AND run_id = ?"
                .formatted(jobs.name());
        return jobs.update(
                        conn,
                        sql,
                        binder -> binder.time("lease_until", leaseUntil)
                                .text(owner())
                                .text(run.job())
                                .text(run.runId()))
                > 0;
    }

    void advance(Connection conn, ReconcileRun run) throws SQLException {
        if (!run.dryRun()) {
            // Binds: checkpoint, outbox_table, job, run_id.
            String move = "UPDATE %s SET checkpoint = ? WHERE outbox_table = ? AND job = ? AND run_id = ?"
                    .formatted(jobs.name());
            jobs.update(
                    conn,
                    move,
                    binder -> binder.text(run.checkpoint())
                            .text(owner())
                            .text(run.job())
                            .text(run.runId()));
        }
        // Binds: found, fixed, checkpoint, run_id.
        String count = "UPDATE %s SET found = ?, fixed = ?, checkpoint = ? WHERE run_id = ?".formatted(runs.name());
        runs.update(
                conn,
                count,
                binder -> binder.number(run.found())
                        .number(run.fixed())
                        .text(run.checkpoint())
                        .text(run.runId()));
    }

    void end(Connection conn, ReconcileRun run, @Nullable Instant nextAt, boolean swept, boolean served, int keep)
            throws SQLException {
        release(conn, run, nextAt, swept, served && run.requestId() != null);
        markEnded(conn, run.runId(), run.endedAt(), run.error());
        forget(conn, run.job(), keep);
    }

    private void release(Connection conn, ReconcileRun run, @Nullable Instant nextAt, boolean swept, boolean served)
            throws SQLException {
        // Binds: next_at if it is given, outbox_table, job, run_id. The order matters, because MySQL assigns from
        // left to right.
        String sql = """
                UPDATE %s
                   SET run_id = NULL, lease_until = NULL%s%s%s
                 WHERE outbox_table = ?
                   AND job = ?
                   AND run_id = ?
                """.formatted(
                jobs.name(),
                nextAt == null ? "" : ", next_at = ?",
                swept ? ", swept_at = sweep_at, sweep_at = NULL" : "",
                served ? ", request_id = NULL, requested_at = NULL, requested_by = NULL, request_dry = NULL" : "");
        jobs.update(conn, sql, binder -> {
            if (nextAt != null) {
                binder.time("next_at", nextAt);
            }
            binder.text(owner()).text(run.job()).text(run.runId());
        });
    }

    private void forget(Connection conn, String job, int keep) throws SQLException {
        // Binds: outbox_table, job, runs to keep.
        String oldest = """
                SELECT started_at
                  FROM %s
                 WHERE outbox_table = ?
                   AND job = ?
                 ORDER BY started_at DESC
                 LIMIT 1 OFFSET ?
                """.formatted(runs.name());
        Optional<Instant> forgotten = runs.first(
                conn,
                oldest,
                binder -> binder.text(owner()).text(job).number(keep),
                (row, columns) -> Objects.requireNonNull(columns.read(row, "started_at")));
        if (forgotten.isPresent()) {
            // Binds: outbox_table, job, latest started_at.
            String sql = "DELETE FROM %s WHERE outbox_table = ? AND job = ? AND started_at <= ?".formatted(runs.name());
            runs.update(conn, sql, binder -> binder.text(owner()).text(job).time("started_at", forgotten.get()));
        }
    }

    boolean request(Connection conn, String job, String requestId, String by, boolean dryRun, Instant now)
            throws SQLException {
        // Binds: request_id, requested_at, requested_by, request_dry, outbox_table, job.
        String sql = """
                UPDATE %s
                   SET request_id = ?, requested_at = ?, requested_by = ?, request_dry = ?
                 WHERE outbox_table = ?
                   AND job = ?
                   AND request_id IS NULL
                """.formatted(jobs.name());
        return jobs.update(
                        conn,
                        sql,
                        binder -> binder.text(requestId)
                                .time("requested_at", now)
                                .text(by)
                                .smallNumber(dryRun ? 1 : 0)
                                .text(owner())
                                .text(job))
                > 0;
    }

    List<ReconcileRun> read(Connection conn, @Nullable String job, int limit) throws SQLException {
        // Binds: outbox_table, job if it is given, limit.
        String sql = select("outbox_table = ?" + (job == null ? "" : " AND job = ?"));
        return runs.query(
                conn,
                sql,
                binder -> {
                    binder.text(owner());
                    if (job != null) {
                        binder.text(job);
                    }
                    binder.number(limit);
                },
                ReconcileStatements::run);
    }

    Optional<ReconcileRun> readFor(Connection conn, String requestId) throws SQLException {
        return runs.first(
                conn,
                select("outbox_table = ? AND request_id = ?"),
                binder -> binder.text(owner()).text(requestId).number(1),
                ReconcileStatements::run);
    }

    /** Binds: those of the condition, limit. */
    private String select(String condition) {
        return """
                SELECT run_id, job, node, started_at, ended_at, found, fixed, checkpoint, error, dry_run, request_id
                  FROM %s
                 WHERE %s
                 ORDER BY started_at DESC, run_id DESC
                 LIMIT ?
                """.formatted(runs.name(), condition);
    }

    private static ReconcileRun run(ResultSet row, TableColumns columns) throws SQLException {
        return new ReconcileRun(
                row.getString("run_id"),
                row.getString("job"),
                row.getString("node"),
                Objects.requireNonNull(columns.read(row, "started_at")),
                columns.read(row, "ended_at"),
                row.getLong("found"),
                row.getLong("fixed"),
                row.getString("checkpoint"),
                row.getString("error"),
                row.getInt("dry_run") == 1,
                row.getString("request_id"));
    }
}
