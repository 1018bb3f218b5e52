package outbox.benchmarks;

import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.SchedulerBuilder;
import com.github.kagkarlsson.scheduler.SchedulerClient;
import com.github.kagkarlsson.scheduler.task.TaskInstance;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import javax.sql.DataSource;

/** db-scheduler, with the settings that its documentation recommends for high throughput. */
final class DbScheduler implements Contender {
    private static final int THREADS = 10;

    @Override
    public String name() {
        return "db-scheduler";
    }

    @Override
    public String description() {
        return THREADS
                + " threads, lock-and-fetch 4.0/20.0 (on MariaDB, where it is refused, fetch), poll every 100 ms and after each commit, scheduleBatch";
    }

    @Override
    public boolean isPeer() {
        return true;
    }

    @Override
    public void createSchema(Product product, DataSource dataSource) throws SQLException {
        String table = switch (product) {
            case POSTGRESQL -> """
                        CREATE TABLE scheduled_tasks (
                            task_name            TEXT        NOT NULL,
                            task_instance        TEXT        NOT NULL,
                            task_data            BYTEA,
                            execution_time       TIMESTAMPTZ NOT NULL,
                            picked               BOOLEAN     NOT NULL,
                            picked_by            TEXT,
                            last_success         TIMESTAMPTZ,
                            last_failure         TIMESTAMPTZ,
                            consecutive_failures INT,
                            last_heartbeat       TIMESTAMPTZ,
                            version              BIGINT      NOT NULL,
                            priority             SMALLINT,
                            PRIMARY KEY (task_name, task_instance)
                        )""";
            case MARIADB -> """
                        CREATE TABLE scheduled_tasks (
                            task_name            VARCHAR(100) NOT NULL,
                            task_instance        VARCHAR(100) NOT NULL,
                            task_data            BLOB,
                            execution_time       TIMESTAMP(6) NOT NULL,
                            picked               BOOLEAN      NOT NULL,
                            picked_by            VARCHAR(50),
                            last_success         TIMESTAMP(6) NULL,
                            last_failure         TIMESTAMP(6) NULL,
                            consecutive_failures INT,
                            last_heartbeat       TIMESTAMP(6) NULL,
                            version              BIGINT       NOT NULL,
                            priority             SMALLINT,
                            PRIMARY KEY (task_name, task_instance)
                        )""";
        };
        try (Connection connection = dataSource.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(table);
            statement.execute("CREATE INDEX execution_time_idx ON scheduled_tasks (execution_time)");
            statement.execute("CREATE INDEX last_heartbeat_idx ON scheduled_tasks (last_heartbeat)");
        }
    }

    @Override
    public String pendingSql() {
        return "SELECT count(*) FROM scheduled_tasks";
    }

    @Override
    public Node node(NodeSetup setup) {
        return new SchedulerNode(setup);
    }

    private static final class SchedulerNode implements Node {
        private final NodeSetup setup;
        private final SpringTransactions transactions;
        private final OneTimeTask<String> task;
        private final SchedulerClient client;
        private @Nullable Scheduler scheduler;

        SchedulerNode(NodeSetup setup) {
            this.setup = setup;
            transactions = new SpringTransactions(setup.dataSource());
            task = Tasks.oneTime("event", String.class)
                    .execute((instance, context) -> setup.ledger().deliver(instance.getData()));
            client = SchedulerClient.Builder.create(new TransactionAwareDataSourceProxy(setup.dataSource()), task)
                    .build();
        }

        @Override
        public void write(Event event) {
            transactions.write(event, this::schedule);
            if (scheduler != null) {
                scheduler.triggerCheckForDueExecutions();
            }
        }

        @Override
        public void writeBacklog(List<Event> events) {
            Stream<TaskInstance<?>> instances = events.stream().map(this::instance);
            transactions.run(() -> client.scheduleBatch(instances, Instant.now()));
        }

        private void schedule(Event event) {
            client.scheduleBatch(List.<TaskInstance<?>>of(instance(event)), Instant.now());
        }

        private TaskInstance<?> instance(Event event) {
            return task.instance(Integer.toString(event.number()), event.payload());
        }

        @Override
        public void start() {
            SchedulerBuilder builder = Scheduler.create(setup.dataSource(), task);
            if (setup.product() == Product.POSTGRESQL) {
                builder.pollUsingLockAndFetch(4.0, 20.0); // not supported on MariaDB
            }
            scheduler = builder.threads(setup.workers().orElse(THREADS))
                    .pollingInterval(Duration.ofMillis(100))
                    .shutdownMaxWait(Duration.ofSeconds(5))
                    .build();
            scheduler.start();
        }

        @Override
        public void close() {
            if (scheduler != null) {
                scheduler.stop();
            }
        }
    }
}
