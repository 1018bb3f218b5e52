package outbox.samples.market;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.jdbc.support.KeyHolder;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * Changes the status of orders. Each change is one conditional update, which succeeds only if it changes one row.
 * The events about the change are written in the same transaction. This class sends nothing.
 */
@Service
class OrderService {

    private static final DateTimeFormatter NUMBER = DateTimeFormatter.ofPattern("yyyyMMddHHmmss");

    /** Binds: product, buyer, seller, amount, now, now. */
    private static final String INSERT = """
            INSERT INTO orders (product_id, buyer_id, seller_id, total_amount, status, create_time, update_time)
            VALUES (?, ?, ?, ?, 'pending', ?, ?)
            """;

    private static final String PAY = """
            UPDATE orders
               SET status = 'paid', pay_time = LOCALTIMESTAMP, update_time = LOCALTIMESTAMP
             WHERE id = ?
               AND status = 'pending'
            """;

    /** Binds: new status, id, old status. */
    private static final String MOVE = """
            UPDATE orders
               SET status = ?, update_time = LOCALTIMESTAMP
             WHERE id = ?
               AND status = ?
            """;

    private static final String CANCEL = """
            UPDATE orders
               SET status = 'cancelled', cancel_reason = 'buyer', update_time = LOCALTIMESTAMP
             WHERE id = ?
               AND status = 'pending'
            """;

    /**
     * Binds: id, the time-out in microseconds, negative. The stored time is truncated to the second and
     * never rounded up, and the current time is exact. So a message that arrives one time-out after the
     * order finds it overdue.
     */
    private static final String CLOSE = """
            UPDATE orders
               SET status = 'cancelled', cancel_reason = 'timeout', update_time = LOCALTIMESTAMP
             WHERE id = ?
               AND status = 'pending'
               AND create_time <= TIMESTAMPADD(MICROSECOND, ?, LOCALTIMESTAMP(6))
            """;

    /** Binds: the time-out in microseconds, negative; the last id of the previous page; limit. */
    private static final String OVERDUE = """
            SELECT id
              FROM orders
             WHERE status = 'pending'
               AND create_time <= TIMESTAMPADD(MICROSECOND, ?, LOCALTIMESTAMP(6))
               AND id > ?
             ORDER BY id
             LIMIT ?
            """;

    private final JdbcClient jdbc;
    private final ProductService products;
    private final BuyerCredit credit;
    private final OrderEvents events;
    private final long timeoutMicros;

    OrderService(
            JdbcClient jdbc,
            ProductService products,
            BuyerCredit credit,
            OrderEvents events,
            OrderTimeoutSettings timeout) {
        this.jdbc = jdbc;
        this.products = products;
        this.credit = credit;
        this.events = events;
        this.timeoutMicros = timeout.timeout().toNanos() / 1000;
    }

    /** Takes the product and writes the order with its two events, or changes nothing. */
    @Transactional
    public Order place(NewOrder wish) {
        Product product = products.take(wish.productId());
        LocalDateTime now = now();
        KeyHolder key = new GeneratedKeyHolder();
        jdbc.sql(INSERT)
                .params(product.id(), wish.buyerId(), product.sellerId(), product.price(), now, now)
                .update(key, "id");
        long id = Objects.requireNonNull(key.getKey()).longValue();
        jdbc.sql("UPDATE orders SET order_no = ? WHERE id = ?")
                .params(NUMBER.format(now) + "%04d".formatted(id % 10_000), id)
                .update();
        Order order = find(id);
        events.created(order);
        events.timeout(order);
        return order;
    }

    @Transactional
    public Order pay(long id) {
        return moved(id, OrderStatus.PAID, jdbc.sql(PAY).param(id).update(), events::paid);
    }

    @Transactional
    public Order ship(long id) {
        return moved(
                id,
                OrderStatus.SHIPPED,
                move(id, OrderStatus.PAID, OrderStatus.SHIPPED),
                order -> events.changed(order, OrderStatus.PAID));
    }

    @Transactional
    public Order complete(long id) {
        return moved(
                id,
                OrderStatus.COMPLETED,
                move(id, OrderStatus.SHIPPED, OrderStatus.COMPLETED),
                order -> events.changed(order, OrderStatus.SHIPPED));
    }

    @Transactional
    public Order cancel(long id) {
        return moved(id, OrderStatus.CANCELLED, jdbc.sql(CANCEL).param(id).update(), this::giveBack);
    }

    /**
     * Cancels the order if it is pending and overdue. Returns whether this call cancelled it: a payment, a message
     * and the job may run at the same time, and only one of them changes the row.
     */
    @Transactional
    public boolean close(long id) {
        boolean closed = jdbc.sql(CLOSE).params(id, -timeoutMicros).update() == 1;
        if (closed) {
            giveBack(find(id));
        }
        return closed;
    }

    /** Returns overdue orders with a greater id than the given one. */
    @Transactional(readOnly = true)
    public List<Long> overdue(long after, int limit) {
        return jdbc.sql(OVERDUE)
                .params(-timeoutMicros, after, limit)
                .query(Long.class)
                .list();
    }

    @Transactional(readOnly = true)
    public Order find(long id) {
        return jdbc.sql("SELECT " + Order.COLUMNS + " FROM orders WHERE id = ?")
                .param(id)
                .query(Order::of)
                .optional()
                .orElseThrow(() -> new NotFoundException("order", id));
    }

    /**
     * Returns the time of the database, truncated to the precision of the column. Otherwise a database may round it
     * up, and the order would not be overdue yet when its message arrives.
     */
    private LocalDateTime now() {
        return jdbc.sql("SELECT LOCALTIMESTAMP(6)")
                .query(LocalDateTime.class)
                .single()
                .truncatedTo(ChronoUnit.SECONDS);
    }

    private int move(long id, OrderStatus from, OrderStatus to) {
        return jdbc.sql(MOVE).params(to.text(), id, from.text()).update();
    }

    private Order moved(long id, OrderStatus to, int rows, Consumer<Order> then) {
        Order order = find(id);
        if (rows != 1) {
            throw new ConflictException(
                    "Order " + id + " is " + order.status().text() + " and cannot become " + to.text() + ".");
        }
        then.accept(order);
        return order;
    }

    private void giveBack(Order order) {
        products.release(order.productId());
        credit.recalculate(order.buyerId());
    }
}
