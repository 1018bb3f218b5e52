package outbox.samples.market;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

import java.util.List;
import java.util.Map;

/**
 * Supplies the data of the page: the latest products and orders, the history of their events, and the queues. Not
 * part of the API.
 */
@RestController
class LiveController {

    private static final int SHOWN = 30;

    private final JdbcClient jdbc;
    private final EventWays ways;
    private final QueueDepths depths;

    LiveController(JdbcClient jdbc, EventWays ways, QueueDepths depths) {
        this.jdbc = jdbc;
        this.ways = ways;
        this.depths = depths;
    }

    @GetMapping("/live")
    Live live() {
        List<Product> products = jdbc.sql(
                        "SELECT id, seller_id, title, price, status FROM products ORDER BY id DESC LIMIT ?")
                .param(SHOWN)
                .query(Product.class)
                .list();
        List<Order> orders = jdbc.sql("SELECT " + Order.COLUMNS + " FROM orders ORDER BY id DESC LIMIT ?")
                .param(SHOWN)
                .query(Order::of)
                .list();
        return new Live(products, orders, ways.of(orders.stream().map(Order::id).toList()), depths.latest());
    }

    /** The content of the page. */
    record Live(List<Product> products, List<Order> orders, List<EventWay> events, Map<String, Long> queues) {}
}
