package outbox.samples.market;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;

/**
 * Closes an order when its message leaves the delay queue. The update checks again that the order is
 * pending and overdue.
 */
@Component
class TimeoutConsumer implements OrderConsumer {

    private static final Logger LOG = LoggerFactory.getLogger(TimeoutConsumer.class);

    private final OrderService orders;

    TimeoutConsumer(OrderService orders) {
        this.orders = orders;
    }

    @Override
    public String queue() {
        return MarketTopology.TIMEOUT_QUEUE;
    }

    @Override
    public String name() {
        return "order-timeout";
    }

    @Override
    public OrderEvent type() {
        return OrderEvent.ORDER_TIMEOUT;
    }

    @Override
    public void handle(OrderMessage message) {
        if (orders.close(message.orderId())) {
            LOG.info("Order {} was overdue and is cancelled", message.orderId());
        } else {
            LOG.info("Order {} is not pending, or not overdue yet; it stays as it is", message.orderId());
        }
    }
}
