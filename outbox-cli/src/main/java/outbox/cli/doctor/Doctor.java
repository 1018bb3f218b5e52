package outbox.cli.doctor;

import outbox.OutboxException;
import outbox.jdbc.AbstractJdbcEventStore;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;

/** Finds what silently breaks an outbox. Reads only, and holds no lock longer than a query. */
public final class Doctor {

    private static final List<Check> SCHEMA = List.of(new MigrationCheck(), new IndexCheck());

    private static final List<Check> ALL = List.of(
            new MigrationCheck(),
            new IndexCheck(),
            new PlanCheck(),
            new ClockCheck(),
            new TransactionCheck(),
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

    /** Looks at everything. The connection must be as its driver and server make it. */
    public Report examine(Connection connection, AbstractJdbcEventStore store) throws SQLException {
        return examine(ALL, connection, store, limits, clock);
    }

    /** Looks only at whether tables, columns and indexes are there. */
    public static List<Finding> checkSchema(Connection connection, AbstractJdbcEventStore store, List<String> expected)
            throws SQLException {
        Limits limits = new Limits(
                Limits.DEFAULT.lease(),
                Limits.DEFAULT.stalled(),
                Limits.DEFAULT.skew(),
                Limits.DEFAULT.longTransaction(),
                null,
                expected);
        return examine(SCHEMA, connection, store, limits, Clock.systemUTC()).findings();
    }

    private static Report examine(
            List<Check> checks, Connection connection, AbstractJdbcEventStore store, Limits limits, Clock clock)
            throws SQLException {
        String table = store.table().value();
        if (!MigrationCheck.hasTable(connection, table)) {
            return new Report(List.of(MigrationCheck.noTable(table)), List.of());
        }
        Examination examination =
                new Examination(connection, store, Columns.EVENT, new Queries(connection, table), limits, clock);
        List<Finding> findings = new ArrayList<>();
        List<String> notChecked = new ArrayList<>();
        boolean autoCommit = connection.getAutoCommit();
        for (Check check : checks) {
            try {
                findings.addAll(check.look(examination));
            } catch (SQLException | OutboxException e) { // a missing privilege, say; the other checks go on
                notChecked.add(check.name() + ": " + e.getMessage());
            }
            if (!autoCommit) {
                connection.rollback(); // what failed, and the snapshot of what did not
            }
            if (check instanceof MigrationCheck && !findings.isEmpty() && !hasRequired(examination)) {
                break; // nothing can be asked of it
            }
        }
        return new Report(findings, notChecked);
    }

    private static boolean hasRequired(Examination examination) {
        return examination.columns().required().stream().allMatch(examination.queries()::hasColumn);
    }
}
