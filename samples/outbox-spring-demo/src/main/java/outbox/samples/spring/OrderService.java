package outbox.samples.spring;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import tools.jackson.databind.json.JsonMapper;

import java.util.UUID;

/** Places orders. The row and its event are written in one transaction: both exist, or neither does. */
@Service
class OrderService {

    private final JdbcClient jdbc;
    private final OutboxWriter outbox;
    private final JsonMapper json;

    OrderService(JdbcClient jdbc, OutboxWriter outbox, JsonMapper json) {
        this.jdbc = jdbc;
        this.outbox = outbox;
        this.json = json;
    }

    /** Places an order. If the card is refused, that is after everything was written, and nothing of it stays. */
    @Transactional
    public Order place(NewOrder wish, boolean cardIsRefused) {
        Order order = new Order(UUID.randomUUID().toString(), wish.item(), wish.quantity());
        jdbc.sql("INSERT INTO orders (id, item, quantity) VALUES (?, ?, ?)")
                .params(order.id(), order.item(), order.quantity())
                .update();
        outbox.write(EventEnvelope.builder(Order.PLACED)
                .aggregateType(Order.AGGREGATE)
                .aggregateId(order.id())
                .payloadJson(json.writeValueAsString(order))
                .build());
        if (cardIsRefused) {
            throw new PaymentRefusedException(order.id());
        }
        return order;
    }

    @Transactional(readOnly = true)
    public Order find(String id) {
        return jdbc.sql("SELECT id, item, quantity FROM orders WHERE id = ?")
                .param(id)
                .query(Order.class)
                .optional()
                .orElseThrow(() -> new OrderNotFoundException(id));
    }
}
