package outbox.cli.doctor;

import outbox.OutboxException;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Finds what silently breaks an outbox. Reads only, and holds no lock longer than a query. */
public final class Doctor {

    private static final List<Check> SCHEMA = List.of(new MigrationCheck(), new IndexCheck());

    private static final List<Check> ALL = List.of(
            new MigrationCheck(),
            new IndexCheck(),
            new PlanCheck(),
            new ClockCheck(),
            new TransactionCheck(),
            new OrderCheck(),
            new RouteCheck(),
            new LeaseCheck(),
            new HorizonCheck(),
            new BloatCheck(),
            new RelayCheck());

    private final Limits limits;
    private final Clock clock;

    public Doctor(Limits limits, Clock clock) {
        this.limits = limits;
        this.clock = clock;
    }

    /** The names of all checks. */
    public static List<String> checks() {
        return ALL.stream().map(Check::name).toList();
    }

    /** Whether there is such a table; its name is one that a store has checked. */
    public static boolean hasTable(Connection connection, String table) throws SQLException {
        return MigrationCheck.hasTable(connection, table);
    }

    /** The kind of a table by its columns; empty if it is of none, or not there. */
    public static Optional<TableKind> kindOf(Connection connection, String table) throws SQLException {
        return hasTable(connection, table) ? TableKind.of(new Queries(connection, table).columns()) : Optional.empty();
    }

    /** Looks at everything. The connection must be as its driver and server make it. */
    public Report examine(Connection connection, Subject subject) throws SQLException {
        return examine(ALL, connection, subject, limits, clock);
    }

    /** Looks only at whether tables, columns and indexes are there. */
    public static List<Finding> checkSchema(Connection connection, Subject subject, List<String> expected)
            throws SQLException {
        return examine(SCHEMA, connection, subject, Limits.DEFAULT.expecting(expected), Clock.systemUTC())
                .findings();
    }

    private static Report examine(
            List<Check> checks, Connection connection, Subject subject, Limits limits, Clock clock)
            throws SQLException {
        if (!hasTable(connection, subject.table())) {
            return new Report(List.of(MigrationCheck.noTable(subject.table())), List.of());
        }
        Queries queries = new Queries(connection, subject.table());
        Examination examination = new Examination(connection, subject, queries, limits, clock);
        boolean isComplete = MigrationCheck.missing(examination).isEmpty();
        List<Finding> findings = new ArrayList<>();
        List<String> notChecked = new ArrayList<>();
        boolean autoCommit = connection.getAutoCommit();
        for (Check check : isComplete ? checks : SCHEMA.subList(0, 1)) { // else nothing more can be asked of it
            try {
                findings.addAll(check.look(examination));
            } catch (SQLException | OutboxException e) { // a missing privilege, say; the other checks go on
                notChecked.add(check.name() + ": " + e.getMessage());
            }
            if (!autoCommit) {
                connection.rollback(); // what failed, and the snapshot of what did not
            }
        }
        return new Report(findings, notChecked);
    }
}
