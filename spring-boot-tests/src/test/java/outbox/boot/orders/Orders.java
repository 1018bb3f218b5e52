package outbox.boot.orders;

import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import outbox.EventEnvelope;
import outbox.OutboxWriter;

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
