package outbox.spring;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.event.SimpleApplicationEventMulticaster;
import org.springframework.context.support.AbstractApplicationContext;
import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.springframework.jdbc.core.JdbcTemplate;
import outbox.InvalidEventException;
import outbox.TransactionStateException;
import outbox.jackson.JacksonPayloadCodec;
import outbox.jdbc.Capability;
import outbox.jdbc.OutboxSchema;
import outbox.payload.PayloadTypes;

import java.util.Map;
import java.util.UUID;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

@NullUnmarked
class OutboxEventWriterTest {

    enum Region {
        NORTH
    }

    record Customer(UUID id, Region region) {}

    @OutboxEvent(
            type = "order.placed",
            aggregate = "Order",
            aggregateId = "id",
            key = "order-#{id}-#{customer.region.name()}",
            version = 3,
            tenant = "#{customer?.id}")
    record OrderPlaced(Long id, Customer customer) {}

    @OutboxEvent("bean.changed")
    public static class BeanChanged {
        public String getName() {
            return "n";
        }
    }

    @OutboxEvent(type = "wrong", aggregateId = "#{nothing.at.all}")
    record Wrong(String id) {}

    @OutboxEvent(type = "elsewhere", outbox = "other")
    record Elsewhere(String id) {}

    private final SpringRig rig = new SpringRig();
    private final AnnotationConfigApplicationContext context = context(null, writer());

    @AfterEach
    void close() {
        context.close();
        rig.close();
    }

    @Test
    void an_object_that_is_published_in_a_transaction_is_stored_as_its_class_says() {
        UUID customer = UUID.randomUUID();
        OutboxSchema.statements(rig.store, Capability.KEYS).forEach(new JdbcTemplate(rig.pool)::execute);

        publish(new OrderPlaced(7L, new Customer(customer, Region.NORTH)));

        Map<String, Object> row = new JdbcTemplate(rig.pool).queryForMap("SELECT * FROM outbox_event");
        assertThat(row)
                .containsEntry("EVENT_TYPE", "order.placed")
                .containsEntry("AGGREGATE_TYPE", "Order")
                .containsEntry("AGGREGATE_ID", "7")
                .containsEntry("TENANT_ID", customer.toString())
                .containsEntry("DEDUP_KEY", "order-7-NORTH");
        assertThat(row.get("HEADERS").toString()).contains("schema-version").contains("3");
        assertThat(row.get("PAYLOAD").toString()).contains("\"id\":7");
    }

    @Test
    void nothing_of_a_transaction_that_rolls_back_is_stored() {
        rig.tx.executeWithoutResult(status -> {
            context.publishEvent(new BeanChanged());
            status.setRollbackOnly();
        });

        assertThat(rig.stored()).isEmpty();
    }

    @Test
    void a_publication_outside_a_transaction_is_refused() {
        assertThatThrownBy(() -> context.publishEvent(new BeanChanged()))
                .isInstanceOf(TransactionStateException.class)
                .hasMessageContainingAll("BeanChanged", "outbox 'default'", "No transaction");
        assertThat(rig.stored()).isEmpty();
    }

    @Test
    void other_objects_are_nobodys_business() {
        context.publishEvent("some text");
        context.publishEvent(new Customer(UUID.randomUUID(), Region.NORTH));

        assertThat(rig.stored()).isEmpty();
    }

    @Test
    void a_value_that_is_missing_is_refused_by_name() {
        assertThatThrownBy(() -> publish(new OrderPlaced(null, new Customer(null, Region.NORTH))))
                .isInstanceOf(InvalidEventException.class)
                .hasMessageContainingAll("aggregateId 'id'", "OrderPlaced", "null");
        assertThatThrownBy(() -> publish(new Wrong("7")))
                .isInstanceOf(InvalidEventException.class)
                .hasMessageContainingAll("#{nothing.at.all}", "Wrong");
        assertThat(rig.stored()).isEmpty();
    }

    @Test
    void an_outbox_that_does_not_exist_is_refused() {
        assertThatThrownBy(() -> publish(new Elsewhere("7")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContainingAll("Elsewhere", "'other'");
    }

    @Test
    void a_version_that_is_not_the_registered_one_is_refused() {
        JacksonPayloadCodec codec = new JacksonPayloadCodec();
        PayloadTypes types = PayloadTypes.builder(codec)
                .type("bean.changed", BeanChanged.class)
                .type("order.placed", OrderPlaced.class)
                .build();
        try (var own = context(null, new OutboxEventWriter(outbox -> rig.writer, codec, types))) {
            rig.tx.executeWithoutResult(status -> own.publishEvent(new BeanChanged()));
            assertThatThrownBy(() -> rig.tx.executeWithoutResult(
                            status -> own.publishEvent(new OrderPlaced(7L, new Customer(null, Region.NORTH)))))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContainingAll("OrderPlaced", "version 3", "version 1");
        }
        assertThat(rig.stored()).containsExactly("bean.changed");
    }

    @Test
    void an_object_that_is_published_in_a_child_context_is_stored_once() {
        try (var child = context(context, writer())) {
            rig.tx.executeWithoutResult(status -> child.publishEvent(new BeanChanged()));
        }

        assertThat(rig.stored()).containsExactly("bean.changed");
    }

    @Test
    void it_is_stored_by_the_thread_of_the_transaction_even_if_listeners_have_their_own() {
        SimpleApplicationEventMulticaster multicaster = new SimpleApplicationEventMulticaster();
        multicaster.setTaskExecutor(new SimpleAsyncTaskExecutor());
        try (var own = new AnnotationConfigApplicationContext()) {
            own.registerBean(
                    AbstractApplicationContext.APPLICATION_EVENT_MULTICASTER_BEAN_NAME,
                    SimpleApplicationEventMulticaster.class,
                    () -> multicaster);
            own.registerBean(OutboxEventWriter.class, this::writer);
            own.refresh();

            rig.tx.executeWithoutResult(status -> own.publishEvent(new BeanChanged()));
        }

        assertThat(rig.stored()).containsExactly("bean.changed");
    }

    private OutboxEventWriter writer() {
        return new OutboxEventWriter(rig.writer, new JacksonPayloadCodec());
    }

    private static AnnotationConfigApplicationContext context(
            AnnotationConfigApplicationContext parent, OutboxEventWriter writer) {
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
        context.setParent(parent);
        context.registerBean(OutboxEventWriter.class, () -> writer);
        context.refresh();
        return context;
    }

    private void publish(Object event) {
        rig.tx.executeWithoutResult(status -> context.publishEvent(event));
    }
}
