package outbox.boot.orders;

import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.stereotype.Component;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.spring.OutboxListener;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** An application as users test theirs. */
@SpringBootApplication
class OrdersApplication {}

record OrderCreated(String id, List<String> lines) {}

@Service
class Orders {

    private final OutboxWriter writer;

    Orders(OutboxWriter writer) {
        this.writer = writer;
    }

    @Transactional
    public void create(String id) {
        writer.write(EventEnvelope.builder("order.created.v1")
                .aggregateType("order")
                .aggregateId(id)
                .payloadJson("{\"id\":\"" + id + "\",\"lines\":[]}")
                .build());
    }
}

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
