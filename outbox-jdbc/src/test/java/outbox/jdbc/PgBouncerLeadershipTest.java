package outbox.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.StoreFixture;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Behind PgBouncer in transaction mode a connection has no session of its own, so a lock of the session proves nothing. */
@Timeout(60)
class PgBouncerLeadershipTest {

    @Test
    void a_leader_that_is_moved_to_another_session_is_refused_by_name() throws SQLException {
        StoreFixture db = Databases.fixtureBehindPgBouncer();
        try (JdbcLeadership node = JdbcLeadership.of(db.dataSource(), "outbox_event", Duration.ofSeconds(1));
                Connection other = db.open();
                Statement statement = other.createStatement()) {
            assertThat(node.lead()).isTrue(); // with nobody else there, it gets the same session each time
            statement.execute("SELECT 1"); // an open transaction takes that session away

            assertThatThrownBy(node::lead)
                    .isInstanceOf(LeadershipRefusedException.class)
                    .hasMessageContaining("PgBouncer in transaction mode");
            assertThat(node.isLeader()).isFalse();
        }
    }
}
