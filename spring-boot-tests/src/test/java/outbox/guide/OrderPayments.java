package outbox.guide;

import org.springframework.context.ApplicationEventPublisher;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.annotation.Transactional;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.spring.OutboxEvent;

import java.time.Duration;

/** A service that writes events in both supported ways. */
class OrderPayments {

    private final JdbcClient jdbc;
    private final ApplicationEventPublisher events;
    private final OutboxWriter outbox;

    OrderPayments(JdbcClient jdbc, ApplicationEventPublisher events, OutboxWriter outbox) {
        this.jdbc = jdbc;
        this.events = events;
        this.outbox = outbox;
    }

    @Transactional
    public void place(String id) {
        jdbc.sql("INSERT INTO orders (id, status) VALUES (?, 'PLACED')")
                .param(id)
                .update();
    }

    @Transactional
    public void pay(String id) {
        jdbc.sql("UPDATE orders SET status = 'PAID' WHERE id = ?")
                .param(id)
                .update(); // the next one of this order waits here
        events.publishEvent(new OrderPaid(id)); // takes its number
    }

    @Transactional
    public void remind(String id) {
        outbox.write(EventEnvelope.builder("order.reminder")
                .aggregateType("Order")
                .aggregateId(id)
                .payloadJson("{\"id\":\"" + id + "\"}")
                .deliverAfter(Duration.ofDays(3))
                .build());
    }

    @OutboxEvent(type = "order.paid", aggregate = "Order", aggregateId = "id")
    record OrderPaid(String id) {}
}
