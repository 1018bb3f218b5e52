package outbox.guide.shop;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import outbox.spring.OutboxEvent;
import outbox.spring.OutboxListener;

@SpringBootApplication
public class ShopApplication {

    public static void main(String[] args) {
        SpringApplication.run(ShopApplication.class, args).getBean(Orders.class).place("4711", "lamp");
    }
}

@OutboxEvent(type = "order.placed")
record OrderPlaced(String id, String item) {}

@Service
class Orders {

    private final JdbcClient jdbc;
    private final ApplicationEventPublisher events;

    Orders(JdbcClient jdbc, ApplicationEventPublisher events) {
        this.jdbc = jdbc;
        this.events = events;
    }

    @Transactional
    public void place(String id, String item) {
        jdbc.sql("INSERT INTO orders (id, item) VALUES (?, ?)").params(id, item).update();
        events.publishEvent(
                new OrderPlaced(id, item)); // a row of outbox_event: it exists if, and only if, the order does
    }
}

@Component
class Mail {

    @OutboxListener
    void send(OrderPlaced order) {
        System.out.println(
                "To the customer of order " + order.id() + ": your " + order.item() + " is on its way."); // your code
    }
}
