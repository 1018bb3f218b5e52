package outbox.cli;

import outbox.admin.OutboxAdmin;
import outbox.cli.doctor.Doctor;
import outbox.cli.doctor.Subject;
import outbox.cli.doctor.TableKind;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.LayoutEventStore;
import outbox.jdbc.TableLayout;
import outbox.jdbc.TableName;
import outbox.spi.AdminEventStore;
import outbox.spi.Leadership;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import javax.sql.DataSource;

/** The table that a command works on. */
record Target(Database database, Subject subject, OutboxAdmin admin) {

    /** Of somebody who only administers a table that needs a leader to be relayed. */
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
            // there is nothing to give up
        }
    };

    /**
     * @throws SettingsException if there is no such table, it is no outbox that we know, or its events are dead after
     *     another number of attempts
     */
    static Target of(Database database, String text, MaxAttempts maxAttempts) throws SQLException {
        String table = database.table(text);
        TableKind kind = kind(database, table);
        Subject subject = subject(database, table, kind, maxAttempts.of(database, kind, table));
        return new Target(
                database, subject, new OutboxAdmin(new DataSourceConnectionProvider(database), subject.store()));
    }

    /** Whether the number of attempts that tells dead events is only an assumption. */
    boolean assumesMaxAttempts() {
        return MaxAttempts.isUnknown(database, database.product(), subject.kind(), subject.table());
    }

    /** @throws SettingsException if it is not sure which events are dead */
    void requireMaxAttempts() {
        if (assumesMaxAttempts()) {
            throw new SettingsException(MaxAttempts.unknown(subject.table()));
        }
    }

    /** The database's clock. */
    Instant now() throws SQLException {
        try (Connection connection = database.getConnection()) {
            return subject.store().now(connection);
        }
    }

    /** Refuses a table of another kind than ours, which has no place for what is asked. */
    void requireEventTable(String what) {
        if (subject.kind() != TableKind.EVENT) {
            throw new SettingsException("Table " + subject.table() + " has the layout " + subject.kind() + ", which has"
                    + " no " + what + "; only tables of layout EVENT do.");
        }
    }

    /** The subject of a table that need not be there. */
    static Subject subject(Database database, String table, TableKind kind, int maxAttempts) {
        AdminEventStore store = switch (kind) {
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

    /** The table by its schema and name, however it was spelled: on PostgreSQL the search path finds the schema. The table is there. */
    static String qualified(DataSource database, String product, String table) throws SQLException {
        if (!product.equals("postgresql")) {
            return table;
        }
        return label(database, table);
    }

    /** The table as metrics and health call it: one name however it was spelled. */
    static String label(DataSource database, String table) throws SQLException {
        try (Connection connection = database.getConnection()) {
            return new TableName(table).qualified(connection);
        }
    }

    /** Whether a table that is there is one in partitions. */
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

    /** What the columns of a table say that it is. Its name is checked. */
    static TableKind kind(DataSource database, String table) throws SQLException {
        try (Connection connection = database.getConnection()) {
            if (!Doctor.hasTable(connection, table)) {
                throw new SettingsException("There is no table " + table
                        + " in this database. Name another one by its schema and name, or create it: outbox schema apply"
                        + " --table " + table);
            }
            return Doctor.kindOf(connection, table)
                    .orElseThrow(() -> new SettingsException("Table " + table
                            + " is none of the outbox tables that are known. Name another one, or compare it with outbox"
                            + " schema print --layout EVENT, MODULE or TEXT_STATUS."));
        }
    }
}
