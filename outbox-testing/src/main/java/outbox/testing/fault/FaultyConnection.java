package outbox.testing.fault;

import org.jspecify.annotations.Nullable;
import outbox.testing.fault.FaultyDataSource.Call;
import outbox.testing.fault.FaultyDataSource.ClosedConnection;
import outbox.testing.fault.FaultyDataSource.ConnectionState;

import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * A proxy for a connection. It tracks the connection state from the calls that change it, because the state of a
 * broken connection cannot be queried when it is closed.
 */
final class FaultyConnection extends JdbcProxy {
    private final FaultScript script;
    private final ConnectionBooks books;
    private final ConnectionState opened;
    private ConnectionState state; // guarded by this
    private boolean unfinished; // guarded by this
    private boolean ended; // guarded by this

    private FaultyConnection(Connection target, FaultScript script, ConnectionBooks books) throws SQLException {
        super(target, script);
        this.script = script;
        this.books = books;
        opened = new ConnectionState(target.getAutoCommit(), target.isReadOnly(), target.getTransactionIsolation());
        state = opened;
    }

    static Connection around(Connection target, FaultScript script, ConnectionBooks books) throws SQLException {
        try {
            var handler = new FaultyConnection(target, script, books);
            books.opened();
            return create(Connection.class, handler);
        } catch (SQLException e) {
            target.close(); // the connection is broken, and the caller never receives it
            throw e;
        }
    }

    @Override
    void calling(Call call) {
        if (call.method().equals("close") || call.method().equals("abort")) {
            end();
        }
    }

    @Override
    @Nullable
    Object called(Object proxy, Call call, Object[] arguments, @Nullable Object result) {
        follow(call, arguments);
        var connection = (Connection) proxy;
        if (result instanceof CallableStatement statement) {
            return create(CallableStatement.class, around(statement, connection, call));
        }
        if (result instanceof PreparedStatement statement) {
            return create(PreparedStatement.class, around(statement, connection, call));
        }
        if (result instanceof Statement statement) {
            return create(Statement.class, around(statement, connection, call));
        }
        return result;
    }

    @Override
    @Nullable
    String preparedSql() {
        return null;
    }

    private FaultyStatement around(Statement statement, Connection proxy, Call call) {
        return new FaultyStatement(statement, script, proxy, call.sql(), this::statementSent);
    }

    private synchronized void statementSent() {
        books.statementSent();
        unfinished = !state.autoCommit();
    }

    private synchronized void follow(Call call, Object[] arguments) {
        switch (call.method()) {
            case "setAutoCommit" -> {
                state = new ConnectionState((Boolean) arguments[0], state.readOnly(), state.isolation());
                unfinished &= !state.autoCommit(); // turning auto-commit on commits
            }
            case "setReadOnly" ->
                state = new ConnectionState(state.autoCommit(), (Boolean) arguments[0], state.isolation());
            case "setTransactionIsolation" ->
                state = new ConnectionState(state.autoCommit(), state.readOnly(), (Integer) arguments[0]);
            case "commit" -> unfinished = false;
            // a rollback to a savepoint does not end the transaction
            case "rollback" -> unfinished &= arguments.length > 0;
            default -> {}
        }
    }

    private synchronized void end() {
        if (!ended) {
            ended = true;
            books.closed(new ClosedConnection(opened, state, unfinished));
        }
    }
}
