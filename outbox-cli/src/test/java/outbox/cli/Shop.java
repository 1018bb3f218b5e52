package outbox.cli;

import outbox.EventEnvelope;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.Capability;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.OutboxSchema;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** A database with a complete outbox, for one test. */
final class Shop {

    private final String url;
    private final Database database;
    private final AbstractJdbcEventStore store;

    private Shop(String url) {
        this.url = url;
        Settings settings = new Settings(Map.of(Setting.JDBC_URL, url), Map.of(), null);
        Database opened = Database.of(settings, new Secrets());
        settings.check();
        database = Optional.ofNullable(opened).orElseThrow();
        store = JdbcEventStores.detect(url);
    }

    /** Runs the command on the database at this URL. */
    static Run run(String url, String... arguments) {
        String[] all = Arrays.copyOf(arguments, arguments.length + 2);
        all[arguments.length] = "--url";
        all[arguments.length + 1] = url;
        return Run.of(all);
    }

    static Shop inMemory() {
        return at("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");
    }

    /** Creates the tables in the database at this URL. */
    static Shop at(String url) {
        Shop shop = new Shop(url);
        OutboxSchema.create(shop.database, shop.store, Capability.values());
        return shop;
    }

    /** A database without tables. */
    static Shop bare(String url) {
        return new Shop(url);
    }

    String url() {
        return url;
    }

    Database dataSource() {
        return database;
    }

    Connection connect() throws SQLException {
        return database.getConnection();
    }

    String write(String type) throws SQLException {
        EventEnvelope event = EventEnvelope.ofJson(type, "{\"secret\":42}");
        try (Connection connection = connect()) {
            store.insertNew(connection, event);
        }
        return event.eventId();
    }

    String writeDead(String type, String error) throws SQLException {
        String id = write(type);
        try (Connection connection = connect()) {
            store.markDead(connection, id, error);
        }
        return id;
    }

    String writeDone(String type) throws SQLException {
        String id = write(type);
        try (Connection connection = connect()) {
            store.markDone(connection, id);
        }
        return id;
    }

    void execute(String... statements) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    String ask(String sql) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return String.valueOf(row.getString(1));
        }
    }

    int statusOf(String eventId) throws SQLException {
        return Integer.parseInt(ask("SELECT status FROM outbox_event WHERE event_id = '" + eventId + "'"));
    }
}
