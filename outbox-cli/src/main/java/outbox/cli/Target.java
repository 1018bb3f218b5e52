package outbox.cli;

import outbox.admin.OutboxAdmin;
import outbox.cli.doctor.Doctor;
import outbox.cli.doctor.Subject;
import outbox.cli.doctor.TableKind;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.LayoutEventStore;
import outbox.jdbc.TableLayout;
import outbox.jdbc.TableName;
import outbox.spi.Leadership;
import outbox.spi.LeasingEventStore;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import javax.sql.DataSource;

/** The table that a command works on. */
record Target(Database database, Subject subject, OutboxAdmin admin) {

    /** Never leads: the commands administer a table, they do not relay it. */
    private static final Leadership NEVER = new Leadership() {
        @Override
        public boolean lead() {
            return false;
        }

        @Override
        public boolean isLeader() {
            return false;
        }

        @Override
        public void close() {
            // Nothing to release.
        }
    };

    /**
     * @throws SettingsException if the table does not exist, is not a known outbox table, or its events are dead
     *     after another number of attempts
     */
    static Target of(Database database, String text, MaxAttempts maxAttempts) throws SQLException {
        String table = database.table(text);
        TableKind kind = kind(database, table);
        Subject subject = subject(database, table, kind, maxAttempts.of(database, kind, table));
        return new Target(
                database, subject, new OutboxAdmin(new DataSourceConnectionProvider(database), subject.store()));
    }

    /** Whether the limit of attempts is only assumed, because the database has not recorded it. */
    boolean assumesMaxAttempts() {
        return MaxAttempts.isUnknown(database, database.product(), subject.kind(), subject.table());
    }

    /** @throws SettingsException if the limit of attempts is only assumed */
    void requireMaxAttempts() {
        if (assumesMaxAttempts()) {
            throw new SettingsException(MaxAttempts.unknown(subject.table()));
        }
    }

    /** The time of the database. */
    Instant now() throws SQLException {
        try (Connection connection = database.getConnection()) {
            return subject.store().now(connection);
        }
    }

    /** Refuses a table whose layout is not EVENT. */
    void requireEventTable(String what) {
        if (subject.kind() != TableKind.EVENT) {
            throw new SettingsException("Table " + subject.table() + " has the layout " + subject.kind() + ", which has"
                    + " no " + what + "; only tables of layout EVENT do.");
        }
    }

    /** The subject for a table that need not exist. */
    static Subject subject(Database database, String table, TableKind kind, int maxAttempts) {
        LeasingEventStore store = switch (kind) {
            case EVENT -> database.store(table);
            case MODULE, TEXT_STATUS -> LayoutEventStore.of(database, layout(kind, table, maxAttempts), NEVER);
        };
        return new Subject(database.product(), table, kind, maxAttempts, store);
    }

    static TableLayout layout(TableKind kind, String table, int maxAttempts) {
        TableLayout layout = switch (kind) {
            case EVENT -> TableLayout.specification(table);
            case MODULE -> TableLayout.module(table);
            case TEXT_STATUS -> TableLayout.textStatus(table);
        };
        return layout.withMaxAttempts(maxAttempts);
    }

    /** The schema and name of an existing table. On PostgreSQL the search path supplies a missing schema. */
    static String qualified(DataSource database, String product, String table) throws SQLException {
        if (!product.equals("postgresql")) {
            return table;
        }
        return label(database, table);
    }

    /** The name of the table in metrics and health, the same for every spelling. */
    static String label(DataSource database, String table) throws SQLException {
        try (Connection connection = database.getConnection()) {
            return new TableName(table).qualified(connection);
        }
    }

    /** Whether an existing table is partitioned. */
    static boolean isPartitioned(DataSource database, String product, String table) throws SQLException {
        if (!product.equals("postgresql")) {
            return false;
        }
        try (Connection connection = database.getConnection();
                PreparedStatement select =
                        connection.prepareStatement("SELECT relkind = 'p' FROM pg_class WHERE oid = to_regclass(?)")) {
            select.setString(1, table);
            try (ResultSet row = select.executeQuery()) {
                return row.next() && row.getBoolean(1);
            }
        }
    }

    /** The kind of a table by its columns. The name has been checked. */
    static TableKind kind(DataSource database, String table) throws SQLException {
        try (Connection connection = database.getConnection()) {
            if (!Doctor.hasTable(connection, table)) {
                throw new SettingsException("There is no table " + table
                        + " in this database. Name another one by its schema and name, or create it: outbox"
                        + " schema apply --table " + table);
            }
            return Doctor.kindOf(connection, table)
                    .orElseThrow(() -> new SettingsException("Table " + table
                            + " is none of the outbox tables that are known. Name another one, or compare it"
                            + " with outbox schema print --layout EVENT, MODULE or TEXT_STATUS."));
        }
    }
}
