package outbox.rabbitmq;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.awaitility.Awaitility;
import outbox.inbox.Inbox;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.JdbcInbox;
import outbox.jdbc.OutboxSchema;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;

/** A database with an inbox and a table of effects, and a record of handler calls. */
final class ConsumerFixture implements AutoCloseable {

    static {
        Awaitility.setDefaultTimeout(Duration.ofSeconds(30)); // machines may be slow
    }

    final HikariDataSource database;
    final Inbox inbox;
    final List<String> runs = new CopyOnWriteArrayList<>();

    ConsumerFixture() throws SQLException {
        this("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");
    }

    ConsumerFixture(String url) throws SQLException {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(10);
        database = new HikariDataSource(config);
        JdbcInbox jdbc = JdbcInbox.builder()
                .connectionProvider(new DataSourceConnectionProvider(database))
                .build();
        OutboxSchema.createInbox(database, jdbc);
        inbox = jdbc;
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE effect (event_id VARCHAR(64) NOT NULL)");
        }
    }

    RabbitConsumer.Builder consumer(OrderBroker broker) throws Exception {
        return RabbitConsumer.builder()
                .connectionFactory(broker.factory())
                .queue(OrderBroker.QUEUE)
                .consumer("inventory")
                .inbox(inbox)
                .deadLetter(OrderBroker.EXCHANGE, "order.dlq")
                .redeliveryDelay(Duration.ofMillis(20));
    }

    /** Records the call and stores the effect. */
    void effect(ReceivedMessage message, Connection connection) throws SQLException {
        runs.add(message.eventId());
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO effect (event_id) VALUES (?)")) {
            insert.setString(1, message.eventId());
            insert.executeUpdate();
        }
    }

    long effects() {
        return number("SELECT COUNT(*) FROM effect");
    }

    long differentEffects() {
        return number("SELECT COUNT(DISTINCT event_id) FROM effect");
    }

    private long number(String sql) {
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        database.close();
    }
}
