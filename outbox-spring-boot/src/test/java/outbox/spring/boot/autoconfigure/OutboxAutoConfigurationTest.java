package outbox.spring.boot.autoconfigure;

import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.TransactionStateException;
import outbox.WriteInterceptor;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.EventInterceptor;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.RetryPolicy;
import outbox.poller.OutboxPoller;
import outbox.spi.TxContext;
import outbox.spring.ListenerSource;
import outbox.spring.boot.EngineRunner;
import outbox.spring.boot.OutboxCustomizer;
import outbox.spring.boot.OutboxInstance;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

class OutboxAutoConfigurationTest {

    private final List<String> delivered = new CopyOnWriteArrayList<>();
    private final ApplicationContextRunner runner = EngineRunner.application()
            .withBean(
                    ListenerSource.class,
                    () -> EngineRunner.on("order.created", event -> delivered.add(event.payloadJson())));

    @Test
    void an_event_of_a_committed_transaction_is_delivered_and_none_of_a_rolled_back_one() {
        runner.run(context -> {
            OutboxWriter writer = context.getBean(OutboxWriter.class);
            EngineRunner.transaction(context).executeWithoutResult(status -> {
                writer.write("order.created", "\"rolled back\"");
                status.setRollbackOnly();
            });

            EngineRunner.write(context, "order.created", "\"committed\"");

            await().untilAsserted(() -> assertThat(delivered).containsExactly("\"committed\""));
            await().untilAsserted(() -> assertThat(
                            context.getBean(OutboxAdmin.class).backlog().pending())
                    .isZero());
        });
    }

    @Test
    void a_write_outside_a_transaction_is_refused() {
        runner.run(context -> assertThatThrownBy(
                        () -> context.getBean(OutboxWriter.class).write("order.created", "{}"))
                .isInstanceOf(TransactionStateException.class)
                .hasMessageContaining("No transaction is active"));
    }

    @Test
    void a_switched_off_outbox_leaves_no_bean() {
        EngineRunner.application()
                .withConfiguration(AutoConfigurations.of(EngineRunner.ours()))
                .withPropertyValues("outbox.enabled=false")
                .run(context -> {
                    for (String bean : context.getBeanDefinitionNames()) {
                        assertThat(String.valueOf(context.getType(bean))).doesNotContain("outbox.");
                    }
                });
    }

    @Test
    void there_is_no_outbox_without_a_data_source() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(OutboxAutoConfiguration.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(OutboxInstance.class));
    }

    @Test
    void beans_of_the_application_take_part() {
        AtomicInteger waits = new AtomicInteger();
        List<String> seen = new CopyOnWriteArrayList<>();
        runner.withBean(RetryPolicy.class, () -> attempts -> waits.incrementAndGet())
                .withBean(WriteInterceptor.class, () -> new WriteInterceptor() {
                    @Override
                    public Map<String, String> beforeWrite(EventEnvelope event) {
                        seen.add("written");
                        return Map.of();
                    }
                })
                .withBean(EventInterceptor.class, () -> new EventInterceptor() {
                    @Override
                    public void beforeDispatch(EventEnvelope event) {
                        seen.add("delivered");
                    }
                })
                .run(context -> {
                    EngineRunner.write(context, "order.created", "{}");
                    await().untilAsserted(() -> assertThat(seen).containsExactly("written", "delivered"));
                });
    }

    @Test
    void an_application_may_have_a_writer_of_its_own() {
        runner.withUserConfiguration(OwnWriter.class)
                .run(context -> assertThat(context)
                        .hasSingleBean(OutboxWriter.class)
                        .hasBean("ownWriter")
                        .doesNotHaveBean("outboxWriter"));
    }

    @Test
    void customizers_change_what_is_built() {
        List<String> asked = new CopyOnWriteArrayList<>();
        OutboxCustomizer customizer = new OutboxCustomizer() {
            @Override
            public OutboxWriter writer(String outbox, OutboxWriter writer) {
                asked.add("writer of " + outbox);
                return writer;
            }

            @Override
            public void dispatcher(String outbox, OutboxDispatcher.Builder builder) {
                asked.add("dispatcher of " + outbox);
            }

            @Override
            public void poller(String outbox, OutboxPoller.Builder builder) {
                asked.add("poller of " + outbox);
            }
        };

        runner.withBean(OutboxCustomizer.class, () -> customizer)
                .run(context -> assertThat(asked)
                        .containsExactly("writer of default", "dispatcher of default", "poller of default"));
    }

    @Test
    void a_context_that_was_stopped_delivers_again_when_it_is_started() {
        runner.run(context -> {
            context.stop();
            EngineRunner.write(context, "order.created", "\"while stopped\"");
            assertThat(delivered).isEmpty();

            context.start();

            await().untilAsserted(() -> assertThat(delivered).containsExactly("\"while stopped\""));
            EngineRunner.write(context, "order.created", "\"after\"");
            await().untilAsserted(() -> assertThat(delivered).contains("\"after\""));
        });
    }

    @Configuration(proxyBeanMethods = false)
    static class OwnWriter {

        @Bean
        OutboxWriter ownWriter(OutboxInstance outbox) {
            TxContext txContext = outbox.txContext();
            return new OutboxWriter(txContext, outbox.store());
        }
    }
}
