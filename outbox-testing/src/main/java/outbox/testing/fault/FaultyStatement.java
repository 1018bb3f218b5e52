package outbox.testing.fault;

import org.jspecify.annotations.Nullable;
import outbox.testing.fault.FaultyDataSource.Call;

import java.sql.Connection;
import java.sql.Statement;

/** A proxy for a statement, prepared or not. */
final class FaultyStatement extends JdbcProxy {
    private final Connection connection;
    private final @Nullable String preparedSql;
    private final Runnable onSent;

    /**
     * Creates the proxy. {@code connection} is the proxy that the code under test uses, not the connection of
     * the driver.
     */
    FaultyStatement(
            Statement target,
            FaultScript script,
            Connection connection,
            @Nullable String preparedSql,
            Runnable onSent) {
        super(target, script);
        this.connection = connection;
        this.preparedSql = preparedSql;
        this.onSent = onSent;
    }

    @Override
    void calling(Call call) {
        if (call.sendsStatement()) {
            onSent.run();
        }
    }

    @Override
    @Nullable
    Object called(Object proxy, Call call, Object[] arguments, @Nullable Object result) {
        return call.method().equals("getConnection") ? connection : result;
    }

    @Override
    @Nullable
    String preparedSql() {
        return preparedSql;
    }
}
