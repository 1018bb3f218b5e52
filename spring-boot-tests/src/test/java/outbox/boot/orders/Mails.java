package outbox.boot.orders;

import org.springframework.stereotype.Component;
import outbox.spring.OutboxListener;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

@Component
class Mails {

    final List<String> sent = new CopyOnWriteArrayList<>();
    volatile boolean down;

    @OutboxListener(type = "order.created.v1", aggregate = "order", name = "mails")
    void send(OrderCreated order) {
        if (down) {
            throw new IllegalStateException("the mail server is down");
        }
        sent.add(order.id());
    }

    void forget() {
        sent.clear();
        down = false;
    }
}
