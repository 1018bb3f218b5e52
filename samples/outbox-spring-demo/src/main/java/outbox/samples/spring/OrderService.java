package outbox.samples.spring;

import org.springframework.context.ApplicationEventPublisher;
import org.springframework.http.HttpStatus;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.web.server.ResponseStatusException;

import java.util.Optional;
import java.util.UUID;

/** Places orders. The row and its event are written in one transaction: both exist, or neither does. */
@Service
class OrderService {

    private final JdbcClient jdbc;
    private final ApplicationEventPublisher events;

    OrderService(JdbcClient jdbc, ApplicationEventPublisher events) {
        this.jdbc = jdbc;
        this.events = events;
    }

    /**
     * Places an order. If the card is refused, the exception comes after all writes, and the transaction
     * rolls them back.
     */
    @Transactional
    public Order place(String item, int quantity, boolean cardIsRefused) {
        Order order = new Order(UUID.randomUUID().toString(), item, quantity);
        jdbc.sql("INSERT INTO orders (id, item, quantity) VALUES (?, ?, ?)")
                .params(order.id(), order.item(), order.quantity())
                .update();
        events.publishEvent(new OrderPlaced(order.id(), order.item(), order.quantity()));
        if (cardIsRefused) {
            throw new ResponseStatusException(
                    HttpStatus.UNPROCESSABLE_CONTENT,
                    "The card for order " + order.id() + " was refused; the order and its event were rolled back.");
        }
        return order;
    }

    @Transactional(readOnly = true)
    public Optional<Order> find(String id) {
        return jdbc.sql("SELECT id, item, quantity FROM orders WHERE id = ?")
                .param(id)
                .query(Order.class)
                .optional();
    }
}
