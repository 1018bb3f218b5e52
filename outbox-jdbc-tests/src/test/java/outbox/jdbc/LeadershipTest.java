package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class LeadershipTest {

    @Nested
    class OnH2 extends LeadershipContract {

        OnH2() {
            super(Databases.H2);
        }
    }

    @Nested
    class OnPostgres extends LeadershipContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    /**
     * Behind PgBouncer in transaction mode, a connection has no session of its own, so a session lock
     * proves nothing.
     */
    @Timeout(60)
    @Nested
    @Tag("pgbouncer")
    class OnPgBouncer {

        @Test
        void a_leader_that_is_moved_to_another_session_is_refused_by_name() throws SQLException {
            StoreFixture db = Databases.fixtureBehindPgBouncer();
            try (JdbcLeadership node = JdbcLeadership.of(db.dataSource(), "outbox_event", Duration.ofSeconds(1));
                    Connection other = db.open();
                    Statement statement = other.createStatement()) {
                // without other clients it gets the same session each time
                assertThat(node.lead()).isTrue();
                // an open transaction occupies that session
                statement.execute("SELECT 1");

                assertThatThrownBy(node::lead)
                        .isInstanceOf(LeadershipRefusedException.class)
                        .hasMessageContaining("PgBouncer in transaction mode");
                assertThat(node.isLeader()).isFalse();
            }
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends LeadershipContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends LeadershipContract {

        OnMySql() {
            super(Databases.MYSQL);
        }
    }
}
