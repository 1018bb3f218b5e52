package outbox.samples.market;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.jdbc.core.simple.JdbcClient;
import outbox.rabbitmq.MessageHandler;
import outbox.rabbitmq.ReceivedMessage;
import outbox.rabbitmq.UnrecoverableMessageException;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import java.sql.Connection;

/**
 * Checks the common fields of a message before its consumer gets it. The consumer kit adds the four fields to every
 * log line.
 */
final class OrderMessages implements MessageHandler {

    private static final Logger LOG = LoggerFactory.getLogger(OrderMessages.class);

    private final OrderConsumer consumer;
    private final JdbcClient jdbc;
    private final JsonMapper json;

    OrderMessages(OrderConsumer consumer, JdbcClient jdbc, JsonMapper json) {
        this.consumer = consumer;
        this.jdbc = jdbc;
        this.json = json;
    }

    /** The services find the transaction of the connection by themselves, because it is Spring's transaction. */
    @Override
    public void handle(ReceivedMessage message, Connection connection) {
        try {
            consumer.handle(checked(message));
            LOG.debug("Handled {}", message);
        } catch (UnrecoverableMessageException e) {
            LOG.warn("{} becomes a dead letter: {}", message, e.getMessage());
            throw e;
        } catch (RuntimeException e) {
            LOG.warn("{}: {} comes again, or becomes a dead letter: {}", Texts.CONSUME_FAILED, message, e.toString());
            throw e;
        }
    }

    private OrderMessage checked(ReceivedMessage message) {
        if (!message.eventType().equals(consumer.type().name())) {
            throw new UnrecoverableMessageException(
                    Texts.UNSUPPORTED_TYPE + ": " + message.eventType() + " in " + consumer.queue());
        }
        if (!message.aggregateType().orElse("").equals(OrderEvent.AGGREGATE)) {
            throw new UnrecoverableMessageException(
                    Texts.CONSUME_FAILED + ": aggregateType must be " + OrderEvent.AGGREGATE);
        }
        OrderMessage order = new OrderMessage(payload(message));
        order.require(consumer.type().fields());
        order.text("orderNo");
        if (!message.aggregateId().orElse("").equals(Long.toString(order.orderId()))) {
            throw new UnrecoverableMessageException(
                    Texts.CONSUME_FAILED + ": aggregateId and payload.orderId must be the same");
        }
        requireOrder(order.orderId());
        return order;
    }

    private JsonNode payload(ReceivedMessage message) {
        try {
            return json.readTree(message.payload());
        } catch (JacksonException e) {
            throw new UnrecoverableMessageException(Texts.CONSUME_FAILED + ": payload is not JSON", e);
        }
    }

    /** The event was written together with its order. If the order is missing now, it will never exist. */
    private void requireOrder(long id) {
        if (jdbc.sql("SELECT COUNT(*) FROM orders WHERE id = ?")
                        .param(id)
                        .query(Long.class)
                        .single()
                == 0) {
            throw new UnrecoverableMessageException(Texts.CONSUME_FAILED + ": there is no order " + id);
        }
    }
}
