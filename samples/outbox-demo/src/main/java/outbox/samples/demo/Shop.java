package outbox.samples.demo;

import outbox.OutboxWriter;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.JdbcTransactionManager.Transaction;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;

/** Takes orders. Each order and its event are written in one transaction: both exist, or neither does. */
final class Shop {

    private final JdbcTransactionManager transactions;
    private final OutboxWriter writer;
    private final OutboxWriter writerForImports;
    private final Ledger ledger;

    Shop(ShopOutbox outbox, Ledger ledger) {
        this.transactions = outbox.transactions();
        this.writer = outbox.writer();
        this.writerForImports = outbox.writerWithoutHook();
        this.ledger = ledger;
    }

    void place(Order order) throws SQLException {
        try (Transaction tx = transactions.begin()) {
            insert(tx.connection(), order);
            writer.write(order.event(Order.PLACED));
            commit(tx, order);
        }
    }

    /** Simulates a job in another process. There is no call after the commit, so the poller finds the event. */
    void importOrder(Order order) throws SQLException {
        try (Transaction tx = transactions.begin()) {
            insert(tx.connection(), order);
            writerForImports.write(order.event(Order.IMPORTED));
            commit(tx, order);
        }
    }

    /** The business fails at the last moment. The order and its event are rolled back together. */
    void placeWithBadCard(Order order) throws SQLException, PaymentRefusedException {
        try (Transaction tx = transactions.begin()) {
            insert(tx.connection(), order);
            writer.write(order.event(Order.PLACED));
            throw new PaymentRefusedException(order);
        }
    }

    /** Rolls back a part of the transaction: the order stays, and the gift and the event of the gift are undone. */
    void placeWithGiftOutOfStock(Order order) throws SQLException {
        try (Transaction tx = transactions.begin()) {
            insert(tx.connection(), order);
            writer.write(order.event(Order.PLACED));

            Savepoint beforeGift = tx.connection().setSavepoint();
            insert(tx.connection(), order.gift());
            writer.write(order.gift().event(Order.PLACED));
            tx.connection().rollback(beforeGift);

            commit(tx, order);
        }
        ledger.rolledBackToSavepoint(order.gift());
    }

    private void commit(Transaction tx, Order order) {
        ledger.committing(order);
        tx.commit();
        ledger.committed(order);
    }

    private static void insert(Connection connection, Order order) throws SQLException {
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO orders (number, country) VALUES (?, ?)")) {
            insert.setLong(1, order.number());
            insert.setString(2, order.country());
            insert.executeUpdate();
        }
    }
}
