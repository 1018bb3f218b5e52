package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.jdbc.Databases.Isolation;

/**
 * Runs the engine where a pool, a role or a server has set an isolation level other than the default. Not on H2,
 * because races are tested on real servers.
 */
class IsolationTest {

    @Nested
    class OnPostgresRepeatableRead extends EngineContract {

        OnPostgresRepeatableRead() {
            super(Databases.POSTGRES, () -> Databases.POSTGRES.fixtureAt(Isolation.REPEATABLE_READ));
        }
    }

    @Nested
    class OnPostgresSerializable extends EngineContract {

        OnPostgresSerializable() {
            super(Databases.POSTGRES, () -> Databases.POSTGRES.fixtureAt(Isolation.SERIALIZABLE));
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDbSerializable extends EngineContract {

        OnMariaDbSerializable() {
            super(Databases.MARIADB, () -> Databases.MARIADB.fixtureAt(Isolation.SERIALIZABLE));
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySqlSerializable extends EngineContract {

        OnMySqlSerializable() {
            super(Databases.MYSQL, () -> Databases.MYSQL.fixtureAt(Isolation.SERIALIZABLE));
        }
    }
}
