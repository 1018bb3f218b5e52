package outbox.samples.market;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;

/** Counts what a buyer let go; every cancellation, by hand or by time-out, has it counted anew. */
@Component
class BuyerCredit {

    /** Makes the buyer's row or takes its lock, so that of two cancellations the second counts the first too. */
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
