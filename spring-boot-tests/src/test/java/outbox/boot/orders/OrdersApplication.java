package outbox.boot.orders;

import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.stereotype.Component;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.spring.ListenerSource;
import outbox.spring.OutboxListeners;
import outbox.spring.OutboxListeners.Entry;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** An application as users test theirs. */
@SpringBootApplication
class OrdersApplication {}

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
class Mails implements ListenerSource {

    final List<String> sent = new CopyOnWriteArrayList<>();
    volatile boolean down;

    void forget() {
        sent.clear();
        down = false;
    }

    @Override
    public void addTo(String outbox, OutboxListeners listeners) {
        listeners.add(new Entry(
                "order",
                "order.created.v1",
                event -> {
                    if (down) {
                        throw new IllegalStateException("the mail server is down");
                    }
                    sent.add(event.aggregateId());
                },
                "Mails"));
    }
}
