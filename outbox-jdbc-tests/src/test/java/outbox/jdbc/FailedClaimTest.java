package outbox.jdbc;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.jdbc.HostileTable.Kind;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** A claim that fails after its statement holds no events, even if the store keeps claims in memory. */
class FailedClaimTest {

    @ParameterizedTest
    @EnumSource(names = {"OUTBOX_ON_POSTGRES", "MODULE_ON_POSTGRES", "TEXT_STATUS_ON_POSTGRES"})
    void events_of_a_claim_whose_commit_failed_are_delivered_at_once(Kind kind) {
        HostileTable table = new HostileTable(kind);
        table.insert(table.goodRows(10));
        AtomicInteger failing = new AtomicInteger(1);

        try (Node node = new Node(failing(table.pool, failing), kind.store(table.pool))) {
            node.poller.start();

            await().atMost(Duration.ofSeconds(60)).until(() -> table.done().size() == 10);
        }
        assertThat(failing).hasValue(0);
    }

    /** Makes the first commits of a claim fail and rolls their transactions back. */
    private static DataSource failing(DataSource pool, AtomicInteger commits) {
        return proxy(DataSource.class, pool, commits);
    }

    private static <T> T proxy(Class<T> type, T target, AtomicInteger commits) {
        AtomicBoolean claims = new AtomicBoolean();
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, args) -> {
            if (method.getName().equals("prepareStatement") && ((String) args[0]).contains("SKIP LOCKED")) {
                claims.set(true);
            }
            if (method.getName().equals("commit")
                    && claims.get()
                    && commits.getAndUpdate(n -> Math.max(0, n - 1)) > 0) {
                ((Connection) target).rollback();
                throw new SQLException("The commit failed for this test", "08006");
            }
            try {
                Object result = method.invoke(target, args);
                return result instanceof Connection connection ? proxy(Connection.class, connection, commits) : result;
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }));
    }
}
