package outbox.samples.spring;

import org.springframework.stereotype.Component;
import outbox.spring.OutboxListener;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** The listener. It keeps the last orders, so that they can be shown. A real listener would call a carrier. */
@Component
class Shipping {

    private static final int KEPT = 1000;

    private final Deque<OrderPlaced> latest = new ArrayDeque<>(); // guarded by this

    @OutboxListener
    synchronized void ship(OrderPlaced order) {
        if (latest.size() == KEPT) {
            latest.removeFirst();
        }
        latest.addLast(order);
    }

    synchronized List<OrderPlaced> latest() {
        return List.copyOf(latest);
    }
}
