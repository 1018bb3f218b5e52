package outbox.spring.boot.inbox;

import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import outbox.EventEnvelope;
import outbox.inbox.Inbox;
import outbox.spring.Idempotent;
import outbox.spring.ListenerSource;
import outbox.spring.OutboxListeners;
import outbox.spring.boot.Contexts;
import outbox.spring.boot.diagnostics.OutboxStartException;

import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;
import static org.awaitility.Awaitility.await;

@Timeout(60)
class OutboxInboxTest {

    record Order(String id) {}

    static class Billing {

        private final JdbcClient jdbc;

        Billing(JdbcClient jdbc) {
            this.jdbc = jdbc;
            jdbc.sql("CREATE TABLE IF NOT EXISTS bill (id VARCHAR(50))").update();
        }

        @Idempotent(consumer = "${billing.name:billing}", key = "#order.id")
        @Transactional
        public String bill(Order order, boolean fail) throws IOException {
            jdbc.sql("INSERT INTO bill VALUES (?)").param(order.id()).update();
            if (fail) {
                throw new IOException("after the effect");
            }
            return "billed";
        }

        @Idempotent(consumer = "keyed", key = "headers['key']")
        public void byHeader() {
            jdbc.sql("INSERT INTO bill VALUES ('keyed')").update();
        }

        @Idempotent(consumer = "events")
        public void onEvent(String id) {
            jdbc.sql("INSERT INTO bill VALUES (?)").param(id).update();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class App {
        @Bean
        Billing billing(JdbcClient jdbc) {
            return new Billing(jdbc);
        }
    }

    private static final ApplicationContextRunner RUNNER = Contexts.runner().withUserConfiguration(App.class);

    private static int count(ApplicationContext context, String table) {
        return context.getBean(JdbcClient.class)
                .sql("SELECT COUNT(*) FROM " + table)
                .query(Integer.class)
                .single();
    }

    @Test
    void a_method_takes_effect_once_per_key() {
        RUNNER.run(context -> {
            Billing billing = context.getBean(Billing.class);

            assertThat(billing.bill(new Order("o1"), false)).isEqualTo("billed");
            assertThat(billing.bill(new Order("o1"), false)).isNull();
            assertThat(billing.bill(new Order("o2"), false)).isEqualTo("billed");

            assertThat(count(context, "bill")).isEqualTo(2);
            assertThat(count(context, "outbox_inbox WHERE consumer = 'billing'"))
                    .isEqualTo(2);
        });
    }

    @Test
    void what_fails_leaves_neither_effect_nor_mark_and_comes_again() {
        RUNNER.run(context -> {
            Billing billing = context.getBean(Billing.class);

            assertThatThrownBy(() -> billing.bill(new Order("o1"), true)).isInstanceOf(IOException.class);
            assertThat(count(context, "bill")).isZero();
            assertThat(count(context, "outbox_inbox")).isZero();

            assertThat(billing.bill(new Order("o1"), false)).isEqualTo("billed");
            assertThat(count(context, "bill")).isEqualTo(1);
        });
    }

    @Test
    void without_a_key_and_without_a_message_it_says_so() {
        RUNNER.run(context -> {
            Billing billing = context.getBean(Billing.class);
            assertThatThrownBy(() -> billing.onEvent("x")).hasMessageContaining("without a message");
            assertThatThrownBy(() -> billing.bill(new Order(""), false)).hasMessageContaining("key is empty");
        });
    }

    @Configuration(proxyBeanMethods = false)
    static class Listening {
        @Bean
        ListenerSource listener(Billing billing) {
            return (outbox, listeners) -> {
                listeners.add(new OutboxListeners.Entry(
                        "*", "order.created", event -> billing.onEvent(event.eventId()), "a test"));
                listeners.add(new OutboxListeners.Entry("*", "order.keyed", event -> billing.byHeader(), "a test"));
            };
        }
    }

    @Test
    void an_event_of_the_outbox_is_its_own_message() {
        RUNNER.withUserConfiguration(Listening.class)
                .withPropertyValues("outbox.capabilities=keys")
                .run(context -> {
                    // two events with one key: the second is written after the first is done
                    for (int i = 0; i < 2; i++) {
                        Contexts.write(
                                context,
                                EventEnvelope.builder("order.created")
                                        .payloadJson("{}")
                                        .dedupKey("k")
                                        .build());
                        int written = i + 1;
                        await().atMost(Duration.ofSeconds(20))
                                .until(() -> count(context, "outbox_event WHERE status = 1") == written);
                    }

                    assertThat(count(context, "bill")).isEqualTo(1);
                    assertThat(count(context, "outbox_inbox WHERE event_id = 'k'"))
                            .isEqualTo(1);
                });
    }

    @Test
    void table_and_layout_are_properties() {
        RUNNER.withPropertyValues("outbox.inbox.table=seen_events").run(context -> {
            context.getBean(Billing.class).bill(new Order("o1"), false);
            assertThat(count(context, "seen_events")).isEqualTo(1);
        });
        Contexts.runner().withPropertyValues("outbox.inbox.layout=consume-log").run(context -> {
            context.getBean(Inbox.class).handle("billing", "e1", "order.created", connection -> {});
            assertThat(count(context, "event_consume_log")).isEqualTo(1);
        });
    }

    @Test
    void by_default_its_table_is_beside_that_of_the_outbox() {
        RUNNER.withPropertyValues(
                        "spring.datasource.url=jdbc:h2:mem:beside;INIT=CREATE SCHEMA IF NOT EXISTS shop",
                        "outbox.table=shop.outbox_event")
                .run(context -> {
                    context.getBean(Billing.class).bill(new Order("o1"), false);
                    assertThat(count(context, "shop.outbox_inbox")).isEqualTo(1);
                });
    }

    @Test
    void a_table_that_is_not_there_is_missed_at_the_start_with_what_to_run() {
        ApplicationContextRunner migrated = RUNNER.withPropertyValues(
                "spring.datasource.url=jdbc:h2:mem:missed;INIT=RUNSCRIPT FROM 'classpath:META-INF/outbox/schema/h2/V1__outbox_event.sql'",
                "outbox.jdbc.initialize-schema=never");
        migrated.run(context -> {
            assertThat(context.getStartupFailure())
                    .rootCause()
                    .hasMessageContaining("Missing: table outbox_inbox")
                    .asInstanceOf(InstanceOfAssertFactories.type(OutboxStartException.class))
                    .extracting(OutboxStartException::action, STRING)
                    .contains(
                            "flyway-inbox", "outbox-inbox.xml", "CREATE TABLE", "outbox.jdbc.initialize-schema=always");
        });
        migrated.withPropertyValues("outbox.jdbc.check-schema=false")
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void an_event_whose_key_the_inbox_cannot_remember_is_dead_at_once_and_a_long_key_takes_effect_once() {
        RUNNER.withUserConfiguration(Listening.class).run(context -> {
            writeKeyed(context, " spaced");
            writeKeyed(context, "k".repeat(300));
            writeKeyed(context, "k".repeat(300));

            await().atMost(Duration.ofSeconds(20))
                    .until(() -> count(context, "outbox_event WHERE status IN (1, 3)") == 3);
            assertThat(count(context, "outbox_event WHERE status = 3 AND attempts = 1"))
                    .isEqualTo(1);
            assertThat(count(context, "bill")).isEqualTo(1);
        });
    }

    private static void writeKeyed(ApplicationContext context, String key) {
        Contexts.write(
                context,
                EventEnvelope.builder("order.keyed")
                        .payloadJson("{}")
                        .headers(Map.of("key", key))
                        .build());
    }

    @Test
    void what_is_past_its_retention_is_purged() {
        RUNNER.withPropertyValues("outbox.inbox.retention=1h", "outbox.inbox.purge-interval=1s")
                .run(context -> {
                    Billing billing = context.getBean(Billing.class);
                    billing.bill(new Order("old"), false);
                    billing.bill(new Order("new"), false);
                    context.getBean(JdbcClient.class)
                            .sql(
                                    "UPDATE outbox_inbox SET handled_at = TIMESTAMPADD(HOUR, -2, handled_at) WHERE event_id = 'old'")
                            .update();

                    await().atMost(Duration.ofSeconds(20)).until(() -> count(context, "outbox_inbox") == 1);
                });
    }

    @Test
    void who_does_not_use_it_needs_no_table() {
        Contexts.runner().run(context -> {
            assertThat(context).hasSingleBean(Inbox.class);
            assertThatThrownBy(() -> count(context, "outbox_inbox")).isNotNull();
        });
    }

    @Test
    void an_annotation_never_goes_without_its_inbox() {
        RUNNER.withPropertyValues("outbox.inbox.enabled=false")
                .run(context -> assertThat(context.getStartupFailure()).hasMessageContaining("outbox.inbox.enabled"));
        Contexts.runner()
                .withPropertyValues("outbox.inbox.enabled=false")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(Inbox.class));
    }

    @Test
    void the_inbox_is_that_of_an_outbox_that_is_there() {
        RUNNER.withPropertyValues("outbox.inbox.outbox=orders")
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("outbox.inbox.outbox")
                        .hasMessageContaining("'orders'"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    outbox.inbox.outbox=           | a text
                    outbox.inbox.table=            | a text
                    outbox.inbox.retention=1s      | between 1m and 36500d
                    outbox.inbox.purge-interval=0  | between 1s and 365d
                    """)
    void a_wrong_value_names_the_property_and_what_is_allowed(String property, String allowed) {
        RUNNER.withPropertyValues(property)
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("Property " + property.substring(0, property.indexOf('=')) + " is")
                        .hasMessageContaining(allowed));
    }

    static class Private {
        @Idempotent(consumer = "c", key = "'k'")
        private void handle() {}

        void call() {
            handle();
        }
    }

    static class Primitive {
        @Idempotent(consumer = "c", key = "'k'")
        public int handle() {
            return 1;
        }
    }

    static class Later {
        @Idempotent(consumer = "c", key = "'k'")
        public CompletableFuture<String> handle() {
            return CompletableFuture.completedFuture("");
        }
    }

    static class Acknowledging {
        @Idempotent(consumer = "c")
        public void handle(com.rabbitmq.client.Channel channel) {}
    }

    static class NoKey {
        @Idempotent(consumer = "c", key = "#order.")
        public void handle() {}
    }

    static class NoConsumer {
        @Idempotent(consumer = " ")
        public void handle() {}
    }

    static class LongConsumer {
        @Idempotent(
                consumer = "0123456789012345678901234567890123456789012345678901234567890123456789"
                        + "0123456789012345678901234567890123456789012345678901234567890123456789")
        public void handle() {}
    }

    static class Apart {
        @Idempotent(consumer = "c")
        @Transactional(propagation = Propagation.REQUIRES_NEW)
        public void handle() {}
    }

    @Transactional(propagation = Propagation.NEVER)
    static class Never {
        @Idempotent(consumer = "c")
        public void handle() {}
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                Private.class,
                Primitive.class,
                Later.class,
                Acknowledging.class,
                NoKey.class,
                NoConsumer.class,
                LongConsumer.class,
                Apart.class,
                Never.class
            })
    void a_method_for_which_the_inbox_cannot_do_its_part_is_refused_at_the_start(Class<?> type) {
        Contexts.runner()
                .withBean(type)
                .run(context -> assertThat(context.getStartupFailure())
                        .hasStackTraceContaining("@Idempotent method " + type.getName() + ".handle"));
    }
}
