package outbox.jdbc;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import outbox.EventEnvelope;
import outbox.testing.contract.StoreFixture;
import outbox.testing.fault.FaultyDataSource;
import outbox.testing.fault.FaultyDataSource.Call;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * A proxy in front of the database loses its server during a COMMIT that took effect, but stays connected to
 * the client.
 */
@Timeout(60)
@Tag("mariadb")
@Tag("mysql")
class LostCommitTest {

    @ParameterizedTest
    @CsvSource({"MARIADB,2006", "MARIADB,2013", "MARIADB,1053", "MYSQL,2006", "MYSQL,2013", "MYSQL,1053"})
    void a_commit_that_a_proxy_lost_is_an_unknown_outcome_and_the_row_decides(Databases database, int code) {
        StoreFixture db = database.fixture();
        List<String> callbacks = new ArrayList<>();
        FaultyDataSource proxied = new FaultyDataSource(db.dataSource());
        try (Node node = Node.withLease(db.dataSource(), db.store(), Duration.ofSeconds(1))) {
            JdbcTransactionManager business = new JdbcTransactionManager(proxied::getConnection, node.txContext);
            EventEnvelope event = EventEnvelope.ofJson("T", "{}");

            try (JdbcTransactionManager.Transaction tx = business.begin()) {
                node.writer.write(event);
                node.txContext.afterCommit(() -> callbacks.add("commit"));
                node.txContext.afterRollback(() -> callbacks.add("rollback"));
                node.txContext.whenUnknown(() -> callbacks.add("unknown"));
                proxied.failAfter(1, Call.to("commit"), () -> new SQLException("Lost connection", "HY000", code));
                assertThatThrownBy(tx::commit).isInstanceOf(CommitOutcomeUnknownException.class);
            }

            assertThat(callbacks).containsExactly("unknown");
            assertThat(node.delivered).isEmpty();
            node.poller.start();
            await().atMost(30, TimeUnit.SECONDS).until(() -> db.count("status = 1") == 1);
            assertThat(node.deliveredIds()).containsExactly(event.eventId());
        }
    }
}
