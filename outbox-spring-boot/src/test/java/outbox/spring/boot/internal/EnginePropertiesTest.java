package outbox.spring.boot.internal;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.test.util.ReflectionTestUtils;
import outbox.DuplicateKeyException;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.OutboxWriter;
import outbox.admin.EventSummary;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection.Limit;
import outbox.dispatch.RetryPolicy;
import outbox.jdbc.LayoutEventStore;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.poller.OutboxPoller;
import outbox.purge.OutboxPurge;
import outbox.runtime.OutboxRuntime;
import outbox.spi.Leadership;
import outbox.spring.ListenerSource;
import outbox.spring.OutboxListeners;
import outbox.spring.boot.Contexts;
import outbox.spring.boot.EngineRunner;
import outbox.spring.boot.OutboxCustomizer;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.diagnostics.OutboxStartException;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** Each property of the engine has its effect, and a wrong value is refused with the name of the property. */
class EnginePropertiesTest {

    private static final String FAILING = "order.failing";

    private final Builders builders = new Builders();
    private final ApplicationContextRunner runner = EngineRunner.application()
            .withBean(OutboxCustomizer.class, () -> builders)
            .withBean(ListenerSource.class, () -> EngineRunner.on(FAILING, new Failing()))
            .withBean("others", ListenerSource.class, () -> EngineRunner.on("other.*", event -> {}));

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "outbox.dispatcher.workers=7                  | workerCount        | 7",
                "outbox.dispatcher.hot-queue-capacity=11      | hotQueueCapacity   | 11",
                "outbox.dispatcher.cold-queue-capacity=12     | coldQueueCapacity  | 12",
                "outbox.dispatcher.max-queued-bytes=3MB       | maxQueuedBytes     | 3145728",
                "outbox.dispatcher.drain-timeout=3s           | drainTimeoutMs     | 3000",
                "outbox.dispatcher.listener-time-limit=2m     | listenerTimeLimit  | PT2M",
                "outbox.dispatcher.keep-attempts=3            | keepAttempts       | 3",
                "outbox.dispatcher.delete-done=true           | deleteDone         | true",
                "outbox.dispatcher.virtual-threads=false      | virtualThreads     | false",
                "outbox.lease=2m                              | leaseDuration      | PT2M",
                "outbox.database-timeout=2s                   | databaseTimeout    | PT2S",
                "outbox.owner-id=node-1                       | ownerId            | node-1",
                "outbox.retry.max-attempts=4                  | maxAttempts        | 4",
            })
    void a_property_reaches_the_dispatcher(String property, String setting, String expected) {
        runner.withPropertyValues(property)
                .run(context -> assertThat(builders.dispatcher(setting)).hasToString(expected));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "outbox.poller.interval=3s                    | intervalMs         | 3000",
                "outbox.poller.batch-size=17                  | batchSize          | 17",
                "outbox.poller.skip-recent=4s                 | skipRecent         | PT4S",
                "outbox.lease=2m                              | lockTimeout        | PT2M",
                "outbox.database-timeout=2s                   | databaseTimeout    | PT2S",
                "outbox.owner-id=node-1                       | ownerId            | node-1",
            })
    void a_property_reaches_the_poller(String property, String setting, String expected) {
        runner.withPropertyValues(property)
                .run(context -> assertThat(builders.poller(setting)).hasToString(expected));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "outbox.retry.policy=fixed       | outbox.retry.first=3s        | 1 | 3000 | 3000",
                "outbox.retry.policy=linear      | outbox.retry.first=3s        | 3 | 9000 | 9000",
                "outbox.retry.policy=series      | outbox.retry.waits=1s,5s     | 2 | 5000 | 5000",
                "outbox.retry.policy=exponential | outbox.retry.first=4s        | 1 | 2000 | 6000",
                "outbox.retry.longest=1s         | outbox.retry.policy=linear   | 9 | 1000 | 1000",
                "outbox.retry.jitter=1ms         | outbox.retry.first=100ms     | 2 | 200  | 201",
            })
    void a_property_changes_the_wait_after_a_failure(
            String property, String other, int attempts, long shortest, long longest) {
        runner.withPropertyValues(property, other)
                .run(context -> assertThat(((RetryPolicy) Objects.requireNonNull(builders.dispatcher("retryPolicy")))
                                .computeDelayMs(attempts))
                        .isBetween(shortest, longest));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "outbox.retry.max-attempts=1",
                "outbox.retry.types[order.failing].max-attempts=1",
                "outbox.retry.listeners.failing.max-attempts=1",
                "outbox.retry.never-on=java.lang.IllegalStateException",
            })
    void an_event_is_dead_after_one_attempt(String property) {
        runner.withPropertyValues(property).run(context -> {
            String id = EngineRunner.write(context, FAILING, "{}");

            await().untilAsserted(
                            () -> assertThat(details(context, id).statusCode()).isEqualTo(EventStatus.DEAD.code()));
            assertThat(details(context, id).attempts()).isOne();
        });
    }

    @Test
    void a_rule_for_a_type_changes_its_wait() {
        runner.withPropertyValues(
                        "outbox.retry.types[order.failing].policy=fixed", "outbox.retry.types[order.failing].first=1h")
                .run(context -> {
                    String id = EngineRunner.write(context, FAILING, "{}");

                    await().untilAsserted(() ->
                            assertThat(details(context, id).statusCode()).isEqualTo(EventStatus.RETRY.code()));
                    assertThat(details(context, id).availableAt())
                            .isAfter(details(context, id).createdAt().plus(Duration.ofMinutes(50)));
                });
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "outbox.ordering.per-aggregate=true                | off",
                "outbox.ordering.only-types=order.created          | order.created",
                "outbox.ordering.except-types=order.seen           | order.seen",
                "outbox.ordering.when-dead=park                    | PARK",
            })
    void a_property_changes_the_order(String property, String expected) {
        runner.withPropertyValues("outbox.ordering.per-aggregate=true", property)
                .run(context -> {
                    String ordering = String.valueOf(builders.dispatcher("ordering"));
                    if (expected.equals("off")) {
                        assertThat(ordering).isNotEqualTo(Ordering.off().toString());
                    } else {
                        assertThat(ordering).contains(expected);
                    }
                    assertThat(columns(context, "outbox_event")).contains("SEQ"); // ordering needs the capability
                });
    }

    @Test
    void limits_and_breakers_are_at_work() {
        runner.withPropertyValues(
                        "outbox.protection.types[order.created].concurrency=1",
                        "outbox.protection.listeners.mailer.rate=5",
                        "outbox.protection.tenants.acme.concurrency=2",
                        "outbox.protection.each-tenant.rate=10",
                        "outbox.protection.each-tenant.per=2s",
                        "outbox.protection.each-tenant.burst=20",
                        "outbox.protection.each-tenant.concurrency=3",
                        "outbox.protection.breakers.shop.types=order.created",
                        "outbox.protection.breakers.shop.open-for=1s")
                .run(context -> {
                    Object settings = Objects.requireNonNull(builders.dispatcher("protection"));
                    assertThat(ReflectionTestUtils.getField(settings, "breakersByType"))
                            .asString()
                            .contains("shop");
                    assertThat(ReflectionTestUtils.getField(settings, "limitsByType"))
                            .asString()
                            .contains("order.created");
                    assertThat(ReflectionTestUtils.getField(settings, "limitsByListener"))
                            .asString()
                            .contains("mailer");
                    assertThat(ReflectionTestUtils.getField(settings, "limitsByTenant"))
                            .asString()
                            .contains("acme");
                    assertThat(ReflectionTestUtils.getField(settings, "limitOfEachTenant"))
                            .usingRecursiveComparison()
                            .isEqualTo(Limit.rate(10, Duration.ofSeconds(2), 20).andConcurrency(3));
                });
    }

    @Test
    void an_event_without_a_listener_is_left_to_other_nodes_if_there_is_an_untaken_limit() {
        EngineRunner.application()
                .withPropertyValues("outbox.dispatcher.untaken-limit=1h")
                .withBean(
                        ListenerSource.class,
                        () -> (outbox, listeners) -> listeners.add(
                                new OutboxListeners.Entry("__GLOBAL__", "known", event -> {}, "the test")))
                .run(context -> {
                    String id = EngineRunner.write(context, "unknown", "{}");
                    String known = EngineRunner.write(context, "known", "{}");

                    await().untilAsserted(() ->
                            assertThat(details(context, known).statusCode()).isEqualTo(EventStatus.DONE.code()));
                    assertThat(details(context, id).statusCode()).isEqualTo(EventStatus.NEW.code());
                });
    }

    @Test
    void a_writer_does_not_deliver() {
        runner.withPropertyValues("outbox.role=writer").run(context -> {
            OutboxInstance outbox = context.getBean(OutboxInstance.class);
            assertThat(outbox.writer()).isNotNull();
            assertThat(outbox.dispatcher()).isNull();
            assertThat(outbox.poller()).isNull();
        });
    }

    @Test
    void a_relay_does_not_write_and_needs_no_transaction_manager() {
        runner.withPropertyValues("outbox.role=relay").run(context -> {
            assertThat(context).doesNotHaveBean(OutboxWriter.class);
            assertThat(context.getBean(OutboxInstance.class).dispatcher()).isNotNull();
        });
    }

    @Test
    void the_table_may_have_another_name_and_capabilities() {
        runner.withPropertyValues("outbox.table=events", "outbox.capabilities=keys,deadlines,pauses,attempts")
                .run(context -> {
                    assertThat(columns(context, "events"))
                            .contains("EXPIRES_AT", "DEDUP_KEY")
                            .doesNotContain("PRIORITY");
                    assertThat(columns(context, "outbox_pause")).isNotEmpty();
                    assertThat(columns(context, "outbox_attempt")).isNotEmpty();
                });
    }

    @Test
    void the_table_may_have_another_layout_with_a_single_active_node() {
        runner.withPropertyValues(
                        "outbox.layout=text-status",
                        "outbox.single-active.enabled=true",
                        "outbox.single-active.term=200ms",
                        "outbox.poller.interval=400ms")
                .run(context -> {
                    OutboxInstance outbox = context.getBean(OutboxInstance.class);
                    assertThat(outbox.store()).isInstanceOf(LayoutEventStore.class);
                    assertThat(outbox.table()).isEqualTo("outbox_events");
                    Leadership leadership = Objects.requireNonNull(outbox.leadership());
                    await().untilAsserted(
                                    () -> assertThat(leadership.isLeader()).isTrue());
                    assertThat(ReflectionTestUtils.getField(leadership, "term")).isEqualTo(Duration.ofMillis(200));

                    Contexts.write( // the layout has no columns for claims
                            context,
                            EventEnvelope.builder("other.event")
                                    .aggregateType("Order")
                                    .aggregateId("7")
                                    .payloadJson("{}")
                                    .build());
                    JdbcTemplate sql = new JdbcTemplate(context.getBean(DataSource.class));
                    await().untilAsserted(() -> assertThat(
                                    sql.queryForObject("SELECT status FROM outbox_events", String.class))
                            .isEqualTo("SENT"));
                });
    }

    @Test
    void a_table_that_is_not_checked_may_be_missing_at_the_start_of_a_writer() {
        runner.withPropertyValues(
                        "outbox.role=writer", "outbox.jdbc.initialize-schema=never", "outbox.jdbc.check-schema=false")
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void a_gathering_writer_stores_before_the_commit_only() {
        runner.withPropertyValues("outbox.writer.gathering=true", "outbox.role=writer")
                .run(context -> {
                    JdbcTemplate sql = new JdbcTemplate(context.getBean(DataSource.class));
                    EngineRunner.transaction(context).executeWithoutResult(status -> {
                        context.getBean(OutboxWriter.class).write("other.event", "{}");
                        assertThat(sql.queryForObject("SELECT COUNT(*) FROM outbox_event", Long.class))
                                .isZero();
                    });
                    assertThat(sql.queryForObject("SELECT COUNT(*) FROM outbox_event", Long.class))
                            .isOne();
                });
    }

    @Test
    void a_second_event_with_the_same_key_may_be_refused() {
        runner.withPropertyValues(
                        "outbox.writer.refuse-duplicates=true", "outbox.capabilities=keys", "outbox.role=writer")
                .run(context -> {
                    EventEnvelope first = EventEnvelope.builder("other.event")
                            .payloadJson("{}")
                            .dedupKey("k")
                            .build();
                    EventEnvelope second = EventEnvelope.builder("other.event")
                            .payloadJson("{}")
                            .dedupKey("k")
                            .build();
                    OutboxWriter writer = context.getBean(OutboxWriter.class);
                    EngineRunner.transaction(context).executeWithoutResult(status -> writer.write(first));

                    assertThatThrownBy(() -> EngineRunner.transaction(context)
                                    .executeWithoutResult(status -> writer.write(second)))
                            .isInstanceOf(DuplicateKeyException.class);
                });
    }

    @Test
    void old_events_are_purged() {
        runner.withPropertyValues(
                        "outbox.purge.retention=0",
                        "outbox.purge.dead-retention=1ms",
                        "outbox.purge.interval=20ms",
                        "outbox.purge.batch-size=3",
                        "outbox.retry.max-attempts=1")
                .run(context -> {
                    EngineRunner.write(context, "other.event", "{}");
                    EngineRunner.write(context, FAILING, "{}");

                    await().untilAsserted(() -> assertThat(new JdbcTemplate(context.getBean(DataSource.class))
                                    .queryForObject("SELECT COUNT(*) FROM outbox_event", Long.class))
                            .isZero());
                    Object run = Contexts.field(Objects.requireNonNull(purge(context)), "run");
                    assertThat(ReflectionTestUtils.getField(run, "batchSize")).isEqualTo(3);
                });
    }

    @Test
    void the_purge_may_be_off() {
        runner.withPropertyValues("outbox.purge.enabled=false")
                .run(context -> assertThat(purge(context)).isNull());
    }

    private static @Nullable OutboxPurge purge(ApplicationContext context) {
        OutboxEngine engine =
                context.getBean(OutboxFactory.class).engines().iterator().next();
        return ((OutboxRuntime) Contexts.field(engine, "runtime")).purge();
    }

    @Test
    void virtual_threads_are_refused_where_there_are_none() {
        runner.withPropertyValues("outbox.dispatcher.virtual-threads=true").run(context -> {
            if (Runtime.version().feature() >= 21) {
                assertThat(builders.dispatcher("virtualThreads")).isEqualTo(true);
            } else {
                assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining(
                                "outbox.dispatcher.virtual-threads is 'true', but must be false before Java 21");
            }
        });
    }

    @Test
    void workers_are_virtual_threads_if_the_application_has_them_on_and_java_can() {
        runner.withPropertyValues("spring.threads.virtual.enabled=true")
                .run(context -> assertThat(builders.dispatcher("virtualThreads"))
                        .isEqualTo(Runtime.version().feature() >= 21));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "outbox.dispatcher.workers=-1                   | between 0 and 10000",
                "outbox.dispatcher.hot-queue-capacity=0         | at least 1",
                "outbox.dispatcher.cold-queue-capacity=0        | at least 1",
                "outbox.dispatcher.max-queued-bytes=0B          | at least 1",
                "outbox.dispatcher.drain-timeout=26s            | between 0 and 22s",
                "outbox.dispatcher.listener-time-limit=0        | between 1ms and 365d",
                "outbox.dispatcher.keep-attempts=-1             | between 0 and 1000",
                "outbox.dispatcher.untaken-limit=-1s            | between 1ms and 365d",
                "outbox.poller.interval=0                       | between 1ms and 365d",
                "outbox.poller.batch-size=0                     | at least 1",
                "outbox.poller.skip-recent=-1s                  | between 0 and 365d",
                "outbox.purge.retention=-1s                     | between 0 and 36500d",
                "outbox.purge.dead-retention=0                  | between 1ms and 36500d",
                "outbox.purge.batch-size=0                      | between 1 and 10000",
                "outbox.purge.interval=0                        | between 1ms and 36500d",
                "outbox.lease=10ms                              | between 1s and 365d",
                "outbox.shutdown-timeout=2h                     | between 3s and 60m",
                "outbox.single-active.term=10ms                 | between 100ms and 1m",
                "outbox.single-active.enabled=true              | outbox.poller.interval",
                "outbox.owner-id=''                             | a text",
                "outbox.table=''                                | a text",
                "outbox.data-source=nowhere                     | the name of a DataSource bean: dataSource",
                "outbox.transaction-manager=nobody              | the name of a transaction manager bean: transactionManager",
                "outbox.layout=text-status                      | outbox.single-active.enabled",
                "outbox.layout=module                           | outbox.table",
                "outbox.ordering.only-types=a                   | outbox.ordering.per-aggregate",
                "outbox.retry.max-attempts=0                    | at least 1",
                "outbox.retry.first=0                           | between 1ms and 365d",
                "outbox.retry.longest=1ms                       | between 200ms and 365d",
                "outbox.retry.jitter=0                          | between 1ms and 365d",
                "outbox.retry.policy=series                     | outbox.retry.waits",
                "outbox.retry.types[a.b].max-attempts=0         | at least 1",
                "outbox.protection.types[a.b].concurrency=0     | at least 1",
                "outbox.protection.each-tenant.rate=0           | at least 1",
                "outbox.protection.breakers.b.open-for=1s       | outbox.protection.breakers.b.types",
            })
    void a_wrong_value_names_the_property_and_what_is_allowed(String property, String allowed) {
        runner.withPropertyValues(property.replace("''", "")).run(context -> {
            assertThat(context).hasFailed();
            assertThat(context.getStartupFailure())
                    .rootCause()
                    .isInstanceOf(OutboxStartException.class)
                    .hasMessageContaining(allowed);
            if (!allowed.startsWith("outbox.")) {
                assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining(property.substring(0, property.indexOf('=')));
            }
        });
    }

    private static EventSummary details(AssertableApplicationContext context, String id) {
        return context.getBean(OutboxAdmin.class).find(id).orElseThrow().summary();
    }

    private static List<String> columns(AssertableApplicationContext context, String table) {
        return new JdbcTemplate(context.getBean(DataSource.class))
                .queryForList(
                        "SELECT column_name FROM information_schema.columns WHERE LOWER(table_name) = ?",
                        String.class,
                        table);
    }

    private static final class Failing implements EventListener {

        @Override
        public void onEvent(EventEnvelope event) {
            throw new IllegalStateException("on purpose");
        }

        @Override
        public String listenerName() {
            return "failing";
        }
    }

    /** Keeps the builders, which have a field for each setting. */
    private static final class Builders implements OutboxCustomizer {

        private OutboxDispatcher.@Nullable Builder dispatcher;
        private OutboxPoller.@Nullable Builder poller;

        @Override
        public void dispatcher(String outbox, OutboxDispatcher.Builder builder) {
            dispatcher = builder;
        }

        @Override
        public void poller(String outbox, OutboxPoller.Builder builder) {
            poller = builder;
        }

        @Nullable
        Object dispatcher(String setting) {
            return ReflectionTestUtils.getField(Objects.requireNonNull(dispatcher), setting);
        }

        @Nullable
        Object poller(String setting) {
            return ReflectionTestUtils.getField(Objects.requireNonNull(poller), setting);
        }
    }
}
