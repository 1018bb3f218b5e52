package outbox.testing.contract;

import org.jspecify.annotations.Nullable;
import outbox.spi.TxContext;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.function.Supplier;

/** The transaction of a step, which may be rolled back. For one thread only. */
final class StepTx implements TxContext {

    private @Nullable Connection connection;

    <T> T in(StoreFixture db, boolean rolledBack, Supplier<T> work) {
        try (Connection opened = db.open()) {
            connection = opened;
            T answer = work.get();
            if (rolledBack) {
                opened.rollback();
            } else {
                opened.commit();
            }
            return answer;
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        } finally {
            connection = null;
        }
    }

    @Override
    public boolean isTransactionActive() {
        return connection != null;
    }

    @Override
    public Connection currentConnection() {
        if (connection == null) {
            throw new IllegalStateException("No transaction");
        }
        return connection;
    }

    @Override
    public void afterCommit(Runnable callback) {}

    @Override
    public void afterRollback(Runnable callback) {}
}
