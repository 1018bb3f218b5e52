package outbox.cli;

import outbox.admin.OutboxAdmin;
import outbox.cli.doctor.Doctor;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.DataSourceConnectionProvider;

import java.sql.Connection;
import java.sql.SQLException;

/** The table that a command works on. */
record Target(Database database, AbstractJdbcEventStore store, OutboxAdmin admin) {

    /** @throws SettingsException if there is no such table */
    static Target of(Database database, String table) throws SQLException {
        AbstractJdbcEventStore store = database.store(table);
        try (Connection connection = database.getConnection()) {
            require(connection, table);
        }
        return new Target(database, store, new OutboxAdmin(new DataSourceConnectionProvider(database), store));
    }

    static void require(Connection connection, String table) throws SQLException {
        if (!Doctor.hasTable(connection, table)) {
            throw new SettingsException("There is no table " + table
                    + " in this database. Name another one by its schema and name, or create it: outbox schema apply"
                    + " --table " + table);
        }
    }
}
