package outbox.spring.boot;

import liquibase.integration.spring.SpringLiquibase;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.core.io.DefaultResourceLoader;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import outbox.admin.OutboxAdmin;
import outbox.spring.ListenerSource;
import outbox.spring.boot.autoconfigure.OutboxAutoConfiguration;
import outbox.testing.server.PostgresServer;

import java.util.UUID;
import java.util.stream.Stream;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The shipped migrations create tables that the check at the start accepts, next to migrations of the application.
 */
class SchemaMigrationTest {

    private static final String CAPABILITIES =
            "outbox.capabilities=order,keys,priority,deadlines,pauses,attempts,inbox,reconcile";

    static Stream<DataSource> databases() {
        return Stream.of(
                new DriverManagerDataSource("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1"),
                new DriverManagerDataSource(PostgresServer.shared().createDatabase()));
    }

    @ParameterizedTest
    @MethodSource("databases")
    void flyway_makes_the_tables_before_the_outbox_looks_at_them(DataSource dataSource) {
        on(dataSource)
                .withConfiguration(AutoConfigurations.of(FlywayAutoConfiguration.class))
                .withPropertyValues(
                        "spring.flyway.locations=classpath:db/migration-of-test,classpath:META-INF/outbox/flyway/{vendor},"
                                + "classpath:META-INF/outbox/flyway-order/{vendor},classpath:META-INF/outbox/flyway-control/{vendor},"
                                + "classpath:META-INF/outbox/flyway-keys/{vendor},classpath:META-INF/outbox/flyway-priority/{vendor},"
                                + "classpath:META-INF/outbox/flyway-deadlines/{vendor},classpath:META-INF/outbox/flyway-one-table/{vendor},"
                                + "classpath:META-INF/outbox/flyway-inbox/{vendor},classpath:META-INF/outbox/flyway-reconcile/{vendor}")
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    deliversTo(context);
                    assertThat(new JdbcTemplate(dataSource)
                                    .queryForObject("SELECT COUNT(*) FROM application_table", Long.class))
                            .isZero();
                });
    }

    @ParameterizedTest
    @MethodSource("databases")
    void liquibase_makes_the_tables(DataSource dataSource) throws Exception {
        SpringLiquibase liquibase = new SpringLiquibase();
        liquibase.setDataSource(dataSource);
        liquibase.setResourceLoader(new DefaultResourceLoader());
        liquibase.setChangeLog("classpath:db/changelog-of-test.xml");
        liquibase.afterPropertiesSet();

        on(dataSource).run(context -> {
            assertThat(context).hasNotFailed();
            deliversTo(context);
        });
    }

    @ParameterizedTest
    @MethodSource("databases")
    void the_starter_makes_the_tables_that_an_operator_needs(DataSource dataSource) {
        on(dataSource)
                .withPropertyValues("outbox.jdbc.initialize-schema=always", "outbox.capabilities=")
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    JdbcTemplate sql = new JdbcTemplate(dataSource);
                    assertThat(sql.queryForObject("SELECT COUNT(*) FROM outbox_pause", Long.class))
                            .isZero();
                    assertThat(sql.queryForObject("SELECT COUNT(*) FROM outbox_audit", Long.class))
                            .isZero();
                });
    }

    @Test
    void flyways_name_for_mariadb_has_what_its_name_for_mysql_has() {
        for (String migration : new String[] {
            "/R__1_outbox_event.sql", "-order/R__2_outbox_order.sql", "-priority/R__3_outbox_priority.sql"
        }) {
            String path = "META-INF/outbox/flyway" + migration.replaceFirst("/", "/mariadb/");
            assertThat(getClass().getClassLoader().getResource(path)).as(path).isNotNull();
        }
    }

    private static ApplicationContextRunner on(DataSource dataSource) {
        return new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(OutboxAutoConfiguration.class))
                .withBean(DataSource.class, () -> dataSource)
                .withBean(JdbcTransactionManager.class, () -> new JdbcTransactionManager(dataSource))
                .withBean(ListenerSource.class, () -> EngineRunner.on("*", event -> {}))
                .withPropertyValues("outbox.jdbc.initialize-schema=never", CAPABILITIES);
    }

    private static void deliversTo(ApplicationContext context) {
        EngineRunner.write(context, "order.created", "{}");
        await().untilAsserted(() -> assertThat(
                        context.getBean(OutboxAdmin.class).backlog().pending())
                .isZero());
    }
}
