package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.testing.fault.FaultProxy;
import outbox.testing.fault.FaultProxy.Direction;
import outbox.testing.server.DatabaseServer;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.MySqlServer;
import outbox.testing.server.PostgresServer;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** A leader that no longer hears from its database although no connection was closed. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("mariadb")
@Tag("mysql")
class LeaderCutOffTest {

    private static final Duration POLL_INTERVAL = Duration.ofSeconds(1);
    private static final Duration TERM = POLL_INTERVAL.dividedBy(2);
    private static final String TABLE = AbstractJdbcEventStore.DEFAULT_TABLE;

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"POSTGRES", "MARIADB", "MYSQL"})
    void a_leader_that_is_cut_off_stops_before_a_standby_leads_and_lets_go_of_its_connection(Databases database) {
        String url = database.url();
        try (FaultProxy network = FaultProxy.to(server(database));
                HikariDataSource cut = Databases.newPool(network.through(url), 2, true);
                HikariDataSource direct = Databases.newPool(url, 2, true);
                JdbcLeadership leader = JdbcLeadership.of(cut, TABLE, TERM)) {
            // closed with its pool at the latest
            JdbcLeadership standby = JdbcLeadership.of(direct, TABLE, TERM);
            cut.getHikariConfigMXBean().setConnectionTimeout(500);
            assertThat(leader.lead()).isTrue();
            assertThat(standby.lead()).isFalse();

            long cutOff = System.nanoTime();
            network.blackhole(Direction.TO_SERVER);
            network.blackhole(Direction.TO_CLIENT);

            await().atMost(TERM.plusSeconds(2)).until(() -> !leader.isLeader());
            // the server has ended the silent session
            await().atMost(10, TimeUnit.SECONDS).until(standby::lead);
            assertThat(Duration.ofNanos(System.nanoTime() - cutOff))
                    .isLessThan(POLL_INTERVAL.multipliedBy(2).plusSeconds(1)); // slow machines
            assertThat(leader.isLeader()).isFalse();
            assertThat(leader.lead()).isFalse();
            await().atMost(10, TimeUnit.SECONDS)
                    .until(() -> cut.getHikariPoolMXBean().getActiveConnections() == 0);

            network.heal();
            standby.close();
            await().atMost(20, TimeUnit.SECONDS).until(leader::lead);
        }
    }

    private static DatabaseServer server(Databases database) {
        return switch (database) {
            case POSTGRES -> PostgresServer.shared();
            case MARIADB -> MariaDbServer.shared();
            case MYSQL -> MySqlServer.shared();
            default -> throw new IllegalArgumentException(database + " has no server");
        };
    }
}
