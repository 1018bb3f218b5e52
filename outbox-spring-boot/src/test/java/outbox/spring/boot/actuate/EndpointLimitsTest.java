package outbox.spring.boot.actuate;

import com.zaxxer.hikari.HikariDataSource;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import outbox.spring.boot.Applications;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.PostgresServer;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

/**
 * If the database is slow or there are many requests, the endpoint gives up and leaves the pool to the application.
 */
@NullUnmarked
@Tag("mariadb")
class EndpointLimitsTest {

    private static final int POOL = 5;

    enum Database {
        POSTGRESQL("LOCK TABLE outbox_event IN ACCESS EXCLUSIVE MODE"),
        MARIADB("LOCK TABLES outbox_event WRITE");

        private final String lock;

        Database(String lock) {
            this.lock = lock;
        }

        String create() {
            return this == POSTGRESQL
                    ? PostgresServer.shared().createDatabase()
                    : MariaDbServer.shared().createDatabase();
        }
    }

    /** The process only writes, so that no relay waits for the lock. */
    private static ApplicationContextRunner on(Database database) {
        return Applications.with(OutboxEndpointAutoConfiguration.class)
                .withPropertyValues(
                        "spring.datasource.url=" + database.create(),
                        "spring.datasource.hikari.maximum-pool-size=" + POOL,
                        "management.endpoints.web.exposure.include=outbox",
                        "outbox.jdbc.initialize-schema=always",
                        "outbox.role=writer",
                        "outbox.endpoint.writes-enabled=true");
    }

    private static OutboxOperations operations(ApplicationContext context) {
        return context.getBean(OutboxOperations.class);
    }

    private static RefusedOperationException refusedSearch(ApplicationContext context) {
        return catchThrowableOfType(
                RefusedOperationException.class,
                () -> operations(context).events("default", EventSearch.ofType("t"), null, null));
    }

    @ParameterizedTest
    @EnumSource
    void the_database_gives_up_a_search_or_a_change_that_takes_too_long(Database database) {
        on(database).withPropertyValues("outbox.endpoint.timeout=1s").run(context -> {
            String id = Applications.write(context, "t");
            try (Connection locking = context.getBean(DataSource.class).getConnection();
                    Statement lock = locking.createStatement()) {
                locking.setAutoCommit(false);
                lock.execute(database.lock);

                RefusedOperationException search = refusedSearch(context);
                RefusedOperationException change = catchThrowableOfType(
                        RefusedOperationException.class,
                        () -> operations(context)
                                .act(
                                        "default",
                                        "discard",
                                        new OutboxOperations.Wish(
                                                "ops", "try", true, null, null, EventSearch.ofType("t"), 10, null)));

                assertThat(search.status()).isEqualTo(503);
                assertThat(search.text()).contains("outbox.endpoint.timeout", "Narrow the filter");
                assertThat(change.status()).isEqualTo(503);
                assertThat(change.text()).contains("outbox.endpoint.timeout");
                unlock(database, locking, lock);
            }
            assertThat(operations(context).event("default", id)).containsEntry("eventType", "t");
        });
    }

    private static void unlock(Database database, Connection connection, Statement statement) throws SQLException {
        if (database == Database.MARIADB) {
            statement.execute("UNLOCK TABLES");
        }
        connection.rollback();
    }

    @Test
    void many_who_ask_a_slow_database_leave_the_pool_to_the_application() {
        on(Database.POSTGRESQL).withPropertyValues("outbox.endpoint.timeout=1m").run(context -> {
            Applications.write(context, "t");
            HikariDataSource pool = context.getBean(HikariDataSource.class);
            ExecutorService clients = Executors.newFixedThreadPool(4 * POOL);
            List<CompletableFuture<RefusedOperationException>> answers = new ArrayList<>();
            try (Connection locking = pool.getConnection();
                    Statement lock = locking.createStatement()) {
                locking.setAutoCommit(false);
                lock.execute(Database.POSTGRESQL.lock);
                CompletableFuture.runAsync(() -> operations(context).outbox("default"), clients);
                for (int i = 1; i < 4 * POOL; i++) {
                    answers.add(CompletableFuture.supplyAsync(() -> refusedSearch(context), clients));
                }

                // all requests but the admitted ones are refused while the table is still locked
                await().atMost(Duration.ofSeconds(60))
                        .until(() -> answers.stream()
                                        .filter(CompletableFuture::isDone)
                                        .count()
                                >= answers.size() - OperationGate.PLACES);
                assertThat(answers.stream().filter(CompletableFuture::isDone).map(CompletableFuture::join))
                        .allSatisfy(refused -> {
                            assertThat(refused.status()).isEqualTo(429);
                            assertThat(refused.text()).contains("Ask again later");
                        });
                assertThat(pool.getHikariPoolMXBean().getActiveConnections())
                        .isBetween(2, 3); // one belongs to the test, which holds the lock
                locking.rollback();
            } finally {
                clients.shutdown();
            }
            assertThat(answers).allSatisfy(answer -> assertThat(answer).succeedsWithin(Duration.ofSeconds(60)));
            assertThat(refusedSearch(context)).isNull();
        });
    }

    @Test
    void the_limit_does_not_stay_with_a_connection_that_goes_back_to_the_pool() {
        Applications.with(OutboxEndpointAutoConfiguration.class)
                .withPropertyValues(
                        "spring.datasource.hikari.maximum-pool-size=1",
                        "management.endpoints.web.exposure.include=outbox",
                        "outbox.role=writer")
                .run(context -> {
                    assertThat(operations(context).events("default", EventSearch.ofType("t"), null, null))
                            .containsKey("events");

                    try (Connection connection =
                                    context.getBean(DataSource.class).getConnection();
                            Statement statement = connection.createStatement()) {
                        assertThat(statement.getQueryTimeout()).isZero();
                    }
                });
    }
}
