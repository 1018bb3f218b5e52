package outbox.spring.boot;

import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.model.EventStatus;
import outbox.poller.OutboxPoller;
import outbox.spring.ListenerSource;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** An application stops while it has many events and slow listeners. Another one starts after it. */
class ShutdownTest {

    private static final int EVENTS = 200;

    private final DataSource dataSource =
            new DriverManagerDataSource("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");
    private final JdbcTemplate sql = new JdbcTemplate(dataSource);
    private final Set<String> written = ConcurrentHashMap.newKeySet();
    private final ConcurrentMap<String, Integer> delivered = new ConcurrentHashMap<>();
    private final AtomicInteger interrupted = new AtomicInteger();
    private final CountDownLatch someRan = new CountDownLatch(8);

    @Test
    void nothing_is_lost_or_interrupted_and_the_next_start_goes_on() throws Exception {
        long[] stopBegan = new long[1];
        application("outbox.dispatcher.drain-timeout=5s", "outbox.shutdown-timeout=20s")
                .withBean(ListenerSource.class, () -> EngineRunner.on("order.created", this::slowly))
                .run(context -> {
                    sql.execute("CREATE TABLE handled (event_id VARCHAR(36))");
                    OutboxWriter writer = context.getBean(OutboxWriter.class);
                    for (int i = 0; i < EVENTS; i++) {
                        EngineRunner.transaction(context)
                                .executeWithoutResult(status -> written.add(writer.write("order.created", "{}")));
                    }
                    assertThat(someRan.await(10, TimeUnit.SECONDS)).isTrue();
                    stopBegan[0] = System.nanoTime();
                }); // closes the context
        Duration stop = Duration.ofNanos(System.nanoTime() - stopBegan[0]);

        assertThat(stop).isLessThan(Duration.ofSeconds(5)); // shorter than the delivery of all queued events
        assertThat(interrupted).hasValue(0);
        assertThat(delivered.size()).isBetween(8, EVENTS - 1);
        assertThat(count(EventStatus.DONE)).isEqualTo(delivered.size()); // each outcome was written
        assertThat(sql.queryForObject("SELECT COUNT(*) FROM outbox_event WHERE locked_by IS NOT NULL", Long.class))
                .isZero(); // all other events were released
        assertThat(sql.queryForObject(
                        "SELECT COUNT(*) FROM outbox_event WHERE attempts > 0 AND status <> 1", Long.class))
                .isZero();

        application()
                .withBean(ListenerSource.class, () -> EngineRunner.on("order.created", this::note))
                .run(context -> await().untilAsserted(
                                () -> assertThat(count(EventStatus.DONE)).isEqualTo(EVENTS)));

        assertThat(delivered.keySet()).isEqualTo(written);
        assertThat(delivered.values()).containsOnly(1);
    }

    @Test
    void a_listener_that_never_ends_does_not_keep_the_application_from_ending() throws Exception {
        CountDownLatch runs = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        long[] stopBegan = new long[1];
        application("outbox.dispatcher.drain-timeout=0", "outbox.shutdown-timeout=3s")
                .withBean(
                        ListenerSource.class,
                        () -> EngineRunner.on("order.created", event -> {
                            runs.countDown();
                            while (end.getCount() > 0) {
                                try {
                                    end.await();
                                } catch (InterruptedException e) {
                                    interrupted.incrementAndGet(); // and continues, as some listeners do
                                }
                            }
                        }))
                .run(context -> {
                    EngineRunner.write(context, "order.created", "{}");
                    assertThat(runs.await(10, TimeUnit.SECONDS)).isTrue();
                    stopBegan[0] = System.nanoTime();
                });
        Duration stop = Duration.ofNanos(System.nanoTime() - stopBegan[0]);
        end.countDown();

        assertThat(interrupted.get()).isPositive();
        assertThat(stop).isLessThan(Duration.ofSeconds(4));
    }

    @Test
    void a_database_that_does_not_answer_does_not_keep_the_application_from_ending() {
        Hanging hanging = new Hanging(dataSource);
        long[] stopBegan = new long[1];
        try {
            EngineRunner.application()
                    .withBean(DataSource.class, () -> hanging)
                    .withBean(ListenerSource.class, () -> EngineRunner.on("order.created", this::note))
                    .withPropertyValues(
                            "outbox.dispatcher.drain-timeout=0",
                            "outbox.shutdown-timeout=3s",
                            "outbox.purge.interval=50ms",
                            "outbox.poller.interval=200ms",
                            "outbox.single-active.enabled=true",
                            "outbox.single-active.term=100ms")
                    .run(context -> {
                        hanging.hang();
                        await().untilAsserted(() -> assertThat(hanging.waiting).hasValueGreaterThan(1));
                        stopBegan[0] = System.nanoTime();
                    });

            assertThat(Duration.ofNanos(System.nanoTime() - stopBegan[0])).isLessThan(Duration.ofSeconds(5));
        } finally {
            hanging.goOn.countDown();
        }
    }

    @Test
    void an_outbox_delivers_what_the_last_web_requests_write_and_stops_before_the_pool_closes() {
        List<String> seen = new CopyOnWriteArrayList<>();
        OutboxPoller[] poller = new OutboxPoller[1];
        EngineRunner.application()
                .withBean(DataSource.class, () -> dataSource)
                .withBean(ListenerSource.class, () -> EngineRunner.on("order.created", this::note))
                .withBean(Ending.class, () -> new Ending(() -> seen.add(running(poller[0]))))
                .withInitializer(context -> context.addApplicationListener(event -> {
                    if (event instanceof ContextRefreshedEvent) {
                        context.getBean(Ending.class).duringRequest = () -> {
                            String id = EngineRunner.write(context, "order.created", "{}");
                            await().untilAsserted(() -> assertThat(delivered).containsKey(id));
                            seen.add("delivered");
                        };
                    }
                }))
                .run(context ->
                        poller[0] = context.getBean(OutboxInstance.class).poller());

        assertThat(seen).containsExactly("delivered", "stopped");
    }

    private static String running(OutboxPoller poller) {
        return poller.status().running() ? "running" : "stopped";
    }

    /** Stops in the phase of the graceful web shutdown, and is destroyed together with the pools. */
    private static final class Ending implements SmartLifecycle, DisposableBean {

        private final Runnable whenPoolsClose;
        private volatile Runnable duringRequest = () -> {};
        private volatile boolean running;

        Ending(Runnable whenPoolsClose) {
            this.whenPoolsClose = whenPoolsClose;
        }

        @Override
        public void start() {
            running = true;
        }

        @Override
        public void stop() {
            duringRequest.run();
            running = false;
        }

        @Override
        public boolean isRunning() {
            return running;
        }

        @Override
        public int getPhase() {
            return WebServerApplicationContext.GRACEFUL_SHUTDOWN_PHASE;
        }

        @Override
        public void destroy() {
            whenPoolsClose.run();
        }
    }

    /** Returns connections until it hangs. Then it blocks every caller and ignores interrupts. */
    private final class Hanging extends DelegatingDataSource {

        private final AtomicInteger waiting = new AtomicInteger();
        private final CountDownLatch goOn = new CountDownLatch(1);
        private volatile boolean hangs;

        Hanging(DataSource target) {
            super(target);
        }

        void hang() {
            hangs = true;
        }

        @Override
        public Connection getConnection() throws SQLException {
            if (hangs) {
                waiting.incrementAndGet();
                while (goOn.getCount() > 0) {
                    try {
                        goOn.await();
                    } catch (InterruptedException e) {
                        interrupted.incrementAndGet(); // some drivers ignore interrupts too
                    }
                }
            }
            return super.getConnection();
        }
    }

    private void slowly(EventEnvelope event) {
        try {
            TimeUnit.MILLISECONDS.sleep(100); // the listener is slow; no test waits here
        } catch (InterruptedException e) {
            interrupted.incrementAndGet();
        }
        sql.update("INSERT INTO handled VALUES (?)", event.eventId());
        note(event);
        someRan.countDown();
    }

    private void note(EventEnvelope event) {
        delivered.merge(event.eventId(), 1, Integer::sum);
    }

    private long count(EventStatus status) {
        Long count =
                sql.queryForObject("SELECT COUNT(*) FROM outbox_event WHERE status = ?", Long.class, status.code());
        return count == null ? 0 : count;
    }

    private ApplicationContextRunner application(String... properties) {
        return EngineRunner.application()
                .withBean(DataSource.class, () -> dataSource)
                .withPropertyValues(properties);
    }
}
