package outbox.boot;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.annotation.Transactional;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.TransactionStateException;
import outbox.admin.OutboxAdmin;
import outbox.spring.Header;
import outbox.spring.OutboxEvent;
import outbox.spring.OutboxListener;

import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Annotated methods and published objects, on both supported lines of Spring Boot. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AnnotationsTest {

    @OutboxEvent(type = "order.placed", aggregate = "Order", aggregateId = "#{id}")
    record OrderPlaced(String id, int cents) {}

    static class Orders {
        private final OutboxWriter writer;
        private final ApplicationEventPublisher publisher;

        Orders(OutboxWriter writer, ApplicationEventPublisher publisher) {
            this.writer = writer;
            this.publisher = publisher;
        }

        @Transactional
        public void place(OrderPlaced order) {
            publisher.publishEvent(order);
        }

        @Transactional
        public void placeAndFail(OrderPlaced order) {
            publisher.publishEvent(order);
            throw new IllegalStateException("rolled back");
        }

        public void placeOutside(OrderPlaced order) {
            publisher.publishEvent(order);
        }

        @Transactional
        public void ship(String id) {
            writer.write(EventEnvelope.builder("order.shipped")
                    .header("carrier", "post")
                    .payloadJson("{\"id\":\"" + id + "\",\"cents\":1}")
                    .build());
        }
    }

    static class Receiver {
        private final BlockingQueue<List<Object>> got = new LinkedBlockingQueue<>();

        @OutboxListener
        void placed(OrderPlaced order, EventEnvelope event) {
            got.add(List.of(order, String.valueOf(event.aggregateId())));
        }

        @Transactional
        @OutboxListener(type = "order.ship*", attempts = "3", retry = "fixed 1s", timeLimit = "30s", concurrency = "1")
        public void shipped(@Header("carrier") String carrier, OrderPlaced order) {
            got.add(List.of(carrier, order));
        }

        boolean hasMore() {
            return !got.isEmpty();
        }

        List<Object> next() throws InterruptedException {
            List<Object> next = got.poll(20, TimeUnit.SECONDS);
            assertThat(next).isNotNull();
            return next;
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {
        @Bean
        Orders orders(OutboxWriter writer, ApplicationEventPublisher publisher) {
            return new Orders(writer, publisher);
        }

        @Bean
        Receiver receiver() {
            return new Receiver();
        }
    }

    private final ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
            .web(WebApplicationType.NONE)
            .properties("spring.datasource.generate-unique-name=true", "spring.main.banner-mode=off")
            .run();
    private final Orders orders = context.getBean(Orders.class);
    private final Receiver receiver = context.getBean(Receiver.class);

    @AfterEach
    void close() {
        context.close();
    }

    @Test
    void a_committed_event_reaches_its_method_as_the_method_wants_it() throws Exception {
        orders.place(new OrderPlaced("7", 5));
        assertThat(receiver.next()).containsExactly(new OrderPlaced("7", 5), "7");

        orders.ship("8");
        assertThat(receiver.next()).containsExactly("post", new OrderPlaced("8", 1));
    }

    @Test
    void nothing_of_a_transaction_that_rolled_back_is_stored() throws Exception {
        assertThatThrownBy(() -> orders.placeAndFail(new OrderPlaced("7", 5))).hasMessage("rolled back");

        orders.place(new OrderPlaced("8", 6));

        assertThat(receiver.next()).containsExactly(new OrderPlaced("8", 6), "8");
        assertThat(receiver.hasMore()).isFalse();
        assertThat(context.getBean(OutboxAdmin.class).statistics().byType()).hasSize(1);
    }

    @Test
    void a_publication_outside_a_transaction_is_refused() {
        assertThatThrownBy(() -> orders.placeOutside(new OrderPlaced("7", 5)))
                .isInstanceOf(TransactionStateException.class)
                .hasMessageContaining("OrderPlaced");
    }
}
