package outbox.fake;

import outbox.spi.TxContext;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;

/** A transaction that a test begins, ends and inspects directly. */
public final class FakeTx implements TxContext {

    private final Connection connection;
    private final List<Runnable> afterCommit = new ArrayList<>();
    private final List<Runnable> whenUnknown = new ArrayList<>();
    private boolean active;

    private FakeTx(boolean active, Connection connection) {
        this.active = active;
        this.connection = connection;
    }

    public static FakeTx active() {
        return on(new FakeConnections().connection(false, false));
    }

    public static FakeTx on(Connection connection) {
        return new FakeTx(true, connection);
    }

    public static FakeTx none() {
        return new FakeTx(false, new FakeConnections().connection(true, false));
    }

    /** Ends the transaction as a transaction manager would. Exceptions of callbacks are not caught. */
    public void commit() {
        active = false;
        afterCommit.forEach(Runnable::run);
    }

    /** Ends the transaction with an unknown outcome. */
    public void endUnknown() {
        active = false;
        whenUnknown.forEach(Runnable::run);
    }

    public int callbacks() {
        return afterCommit.size();
    }

    @Override
    public boolean isTransactionActive() {
        return active;
    }

    @Override
    public Connection currentConnection() {
        return connection;
    }

    @Override
    public void afterCommit(Runnable callback) {
        afterCommit.add(callback);
    }

    @Override
    public void afterRollback(Runnable callback) {}

    @Override
    public boolean whenUnknown(Runnable callback) {
        return whenUnknown.add(callback);
    }
}
