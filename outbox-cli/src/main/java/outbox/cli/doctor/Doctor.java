package outbox.cli.doctor;

import outbox.OutboxException;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Finds problems that break an outbox without an error. It only reads, and holds no lock longer than one query, which
 * has time limits ({@link ReadLimits}). If a check fails, the report says so and the other checks continue.
 */
public final class Doctor {

    private static final List<Check> SCHEMA = List.of(new MigrationCheck(), new IndexCheck());

    private static final List<Check> ALL = List.of(
            new MigrationCheck(),
            new IndexCheck(),
            new ColumnCheck(),
            new SequenceCheck(),
            new TriggerCheck(),
            new PrivilegeCheck(),
            new RowSecurityCheck(),
            new OwnerCheck(),
            new DurabilityCheck(),
            new PlanCheck(),
            new ClockCheck(),
            new TransactionCheck(),
            new OrderCheck(),
            new RouteCheck(),
            new DeadCheck(),
            new FutureCheck(),
            new LeaseCheck(),
            new BlockerCheck(),
            new HorizonCheck(),
            new BloatCheck(),
            new RelayCheck());

    private final Limits limits;
    private final Clock clock;
    private final List<String> flags;

    /**
     * @param flags the flags that select the database in a call of the command, such as {@code --user relay}, one
     *     word each
     */
    public Doctor(Limits limits, Clock clock, List<String> flags) {
        this.limits = limits;
        this.clock = clock;
        this.flags = List.copyOf(flags);
    }

    /** The names of all checks. */
    public static List<String> checks() {
        return ALL.stream().map(Check::name).toList();
    }

    /** Whether the table exists. A store must have checked the name. */
    public static boolean hasTable(Connection connection, String table) throws SQLException {
        return MigrationCheck.hasTable(connection, table);
    }

    /** The kind of a table by its columns; empty if the table is unknown or does not exist. */
    public static Optional<TableKind> kindOf(Connection connection, String table) throws SQLException {
        return hasTable(connection, table) ? TableKind.of(new Queries(connection, table).columns()) : Optional.empty();
    }

    /** The kind of a table to examine: by its columns, or by its name if the columns cannot be read. */
    public static TableKind kindOf(Connection connection, String database, String table) throws SQLException {
        try {
            return ReadLimits.within(connection, database, () -> kindOf(connection, table))
                    .orElse(TableKind.named(table));
        } catch (SQLException e) {
            requireAlive(connection, e);
            return TableKind.named(table);
        }
    }

    /** Runs all checks. The connection must be as its driver and server configure it. */
    public Report examine(Connection connection, Subject subject) throws SQLException {
        List<Check> checks = ALL.stream()
                .filter(check -> !limits.without().contains(check.name()))
                .toList();
        return examine(checks, connection, subject);
    }

    /** Checks only whether tables, columns and indexes exist. */
    public static List<Finding> checkSchema(
            Connection connection, Subject subject, Map<String, String> expected, List<String> flags)
            throws SQLException {
        Limits limits = Limits.DEFAULT.expecting(expected);
        return new Doctor(limits, Clock.systemUTC(), flags)
                .examine(SCHEMA, connection, subject)
                .findings();
    }

    private Report examine(List<Check> checks, Connection connection, Subject subject) throws SQLException {
        String database = subject.database();
        String table = subject.table();
        Queries queries;
        try {
            if (!ReadLimits.within(connection, database, () -> hasTable(connection, table))) {
                return new Report(List.of(MigrationCheck.noTable(table, flags)), List.of(), List.of());
            }
            queries = ReadLimits.within(connection, database, () -> new Queries(connection, table));
        } catch (SQLException e) {
            requireAlive(connection, e);
            return withoutRows(checks, connection, subject, e);
        }
        Examination examination = examination(connection, subject, queries);
        boolean isComplete = MigrationCheck.missing(examination).isEmpty();
        return look(isComplete ? checks : SCHEMA.subList(0, 1), examination); // other checks need all columns
    }

    private Examination examination(Connection connection, Subject subject, Queries queries) throws SQLException {
        boolean autoCommit = connection.getAutoCommit();
        return new Examination(connection, subject, queries, limits, clock, autoCommit, flags, new ArrayList<>());
    }

    /** Runs the checks that need no access to a table that is locked or that this user may not read. */
    private Report withoutRows(List<Check> checks, Connection connection, Subject subject, SQLException refusal)
            throws SQLException {
        String table = subject.table();
        Examination examination = examination(connection, subject, Queries.ofUnreadable(connection, table));
        Report seen = look(checks.stream().filter(check -> !check.readsTable()).toList(), examination);
        boolean isForbidden = String.valueOf(refusal.getSQLState()).startsWith("42") || refusal.getErrorCode() == 90096;
        String check = isForbidden ? "privilege" : "blocker";
        List<Finding> findings = new ArrayList<>(seen.findings());
        String reason = Quoted.shown(String.valueOf(refusal.getMessage()), 200);
        if (findings.stream().noneMatch(finding -> finding.check().equals(check))) {
            findings.add(
                    0,
                    new Finding(
                            check,
                            "Table " + table + " could not be read: " + reason,
                            isForbidden
                                    ? "Grant SELECT on it to the user of this connection."
                                    : "Somebody holds a lock on the whole table. Find the session, and end it.",
                            isForbidden || !subject.database().equals("mysql")
                                    ? List.of()
                                    : List.of("SHOW FULL PROCESSLIST;")));
        }
        List<String> notChecked = new ArrayList<>(seen.notChecked());
        notChecked.add(
                checks.stream().filter(Check::readsTable).map(Check::name).collect(Collectors.joining(", "))
                        + ": table " + table + " could not be read: " + reason);
        return new Report(findings, seen.notes(), notChecked);
    }

    private static Report look(List<Check> checks, Examination examination) throws SQLException {
        List<Finding> findings = new ArrayList<>();
        List<String> notChecked = new ArrayList<>();
        Connection connection = examination.connection();
        for (Check check : checks) {
            try {
                findings.addAll(
                        ReadLimits.within(connection, examination.subject().database(), () -> check.look(examination)));
            } catch (SQLException | OutboxException e) { // for example a missing privilege; the other checks continue
                requireAlive(connection, e);
                notChecked.add(check.name() + ": " + e.getMessage());
            }
        }
        return new Report(findings, examination.notes(), notChecked);
    }

    /** Throws the failure if the connection is broken. */
    private static void requireAlive(Connection connection, Exception failure) throws SQLException {
        if (!connection.isValid(ReadLimits.STATEMENT_SECONDS)) {
            throw failure instanceof SQLException e ? e : new SQLException(failure.getMessage(), failure);
        }
    }
}
