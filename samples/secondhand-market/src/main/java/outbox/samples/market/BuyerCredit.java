package outbox.samples.market;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;

/** Counts the cancelled orders of a buyer. Every cancellation, by the buyer or by time-out, triggers a new count. */
@Component
class BuyerCredit {

    /**
     * Creates the row of the buyer or locks it, so that the second of two concurrent cancellations also
     * counts the first.
     */
    private static final String LOCK = """
            INSERT INTO buyer_credit (buyer_id, cancelled_orders, update_time)
            VALUES (?, 0, LOCALTIMESTAMP)
            ON DUPLICATE KEY UPDATE update_time = LOCALTIMESTAMP
            """;

    private final JdbcClient jdbc;

    BuyerCredit(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    @Transactional(propagation = Propagation.MANDATORY)
    public void recalculate(long buyerId) {
        jdbc.sql(LOCK).param(buyerId).update();
        long cancelled = jdbc.sql("SELECT COUNT(*) FROM orders WHERE buyer_id = ? AND status = 'cancelled'")
                .param(buyerId)
                .query(Long.class)
                .single();
        jdbc.sql("UPDATE buyer_credit SET cancelled_orders = ? WHERE buyer_id = ?")
                .params(cancelled, buyerId)
                .update();
    }
}
