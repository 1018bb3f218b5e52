package outbox.samples.market;

import org.springframework.stereotype.Component;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import tools.jackson.databind.json.JsonMapper;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;

/**
 * Writes events about orders to the outbox, with the payloads of section 13. Requires a transaction. The relay sends
 * the events.
 */
@Component
class OrderEvents {

    private final OutboxWriter outbox;
    private final JsonMapper json;

    OrderEvents(OutboxWriter outbox, JsonMapper json) {
        this.outbox = outbox;
        this.json = json;
    }

    void created(Order order) {
        Map<String, Object> payload = payload(order);
        payload.put("buyerId", order.buyerId());
        payload.put("sellerId", order.sellerId());
        payload.put("productId", order.productId());
        payload.put("quantity", 1);
        payload.put("price", order.totalAmount());
        write(OrderEvent.ORDER_CREATED, order, payload);
    }

    /** Sent immediately. The delay queue holds the message until the order is overdue. */
    void timeout(Order order) {
        Map<String, Object> payload = payload(order);
        payload.put("createTime", order.createTime().toString());
        write(OrderEvent.ORDER_TIMEOUT, order, payload);
    }

    void paid(Order order) {
        Map<String, Object> payload = payload(order);
        payload.put("payTime", String.valueOf(order.payTime()));
        payload.put("amount", order.totalAmount());
        write(OrderEvent.ORDER_PAID, order, payload);
    }

    void changed(Order order, OrderStatus before) {
        Map<String, Object> payload = payload(order);
        payload.put("oldStatus", before.text());
        payload.put("newStatus", order.status().text());
        payload.put("changedAt", order.updateTime().toString());
        write(OrderEvent.ORDER_STATUS_CHANGED, order, payload);
    }

    private static Map<String, Object> payload(Order order) {
        Map<String, Object> payload = new LinkedHashMap<>();
        payload.put("orderId", order.id());
        payload.put("orderNo", order.orderNo());
        return payload;
    }

    private void write(OrderEvent type, Order order, Map<String, Object> payload) {
        outbox.write(EventEnvelope.builder(type.name())
                .eventId(UUID.randomUUID().toString())
                .aggregateType(OrderEvent.AGGREGATE)
                .aggregateId(Long.toString(order.id()))
                .payloadJson(StoredPayload.of(Trace.current(), json.writeValueAsString(payload)))
                .build());
    }
}
