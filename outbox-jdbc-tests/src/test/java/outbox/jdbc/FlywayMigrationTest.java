package outbox.jdbc;

import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.stream.Stream;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The migrations shipped for Flyway. They are repeatable, so a later version of a file also runs on tables that
 * already have its changes.
 */
@Tag("mariadb")
@Tag("mysql")
class FlywayMigrationTest {

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void a_migration_whose_file_has_changed_runs_again(Databases database) throws SQLException {
        DataSource pool = Databases.newPool(database.url(), 4, true);
        Flyway flyway = flyway(database, pool);
        int migrations = flyway.migrate().migrationsExecuted;

        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(
                    database == Databases.H2
                            ? "UPDATE \"flyway_schema_history\" SET \"checksum\" = 1"
                            : "UPDATE flyway_schema_history SET checksum = 1"); // as if the files had changed
        }

        assertThat(flyway.migrate().migrationsExecuted).isEqualTo(migrations).isGreaterThan(4);
        assertThat(OutboxSchema.missing(pool, database.store(), Capability.values()))
                .isEmpty();
    }

    private static Flyway flyway(Databases database, DataSource dataSource) {
        String vendor = switch (database) {
            case H2, H2_AS_MYSQL -> "h2";
            case POSTGRES -> "postgresql";
            case MARIADB -> "mariadb";
            case MYSQL -> "mysql";
        };
        return Flyway.configure()
                .dataSource(dataSource)
                .locations(
                        Stream.of("", "-order", "-keys", "-priority", "-deadlines", "-control", "-inbox", "-reconcile")
                                .map(part -> "classpath:META-INF/outbox/flyway" + part + "/" + vendor)
                                .toArray(String[]::new))
                .load();
    }
}
