package outbox.guide;

import org.springframework.amqp.rabbit.annotation.RabbitListener;
import org.springframework.jdbc.core.simple.JdbcClient;
import outbox.spring.Idempotent;

/** A consumer that handles each message once; {@code RabbitRouteTest} runs one like it against a broker. */
class StockListener {

    private final JdbcClient jdbc;

    StockListener(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    @RabbitListener(queues = "stock")
    @Idempotent(consumer = "stock")
    public void reserve(String message) {
        jdbc.sql("INSERT INTO reservations (message) VALUES (?)").param(message).update();
    }
}
