package outbox.samples.market;

import org.jspecify.annotations.Nullable;

import java.math.BigDecimal;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;

/** An order of one product. Times are in UTC with whole seconds, as in the table. */
record Order(
        long id,
        String orderNo,
        long productId,
        long buyerId,
        long sellerId,
        BigDecimal totalAmount,
        OrderStatus status,
        @Nullable String cancelReason,
        Instant createTime,
        @Nullable Instant payTime,
        Instant updateTime) {

    static final String COLUMNS =
            "id, order_no, product_id, buyer_id, seller_id, total_amount, status, cancel_reason, create_time, pay_time, update_time";

    static Order of(ResultSet row, int number) throws SQLException {
        return new Order(
                row.getLong("id"),
                row.getString("order_no"),
                row.getLong("product_id"),
                row.getLong("buyer_id"),
                row.getLong("seller_id"),
                row.getBigDecimal("total_amount"),
                OrderStatus.of(row.getString("status")),
                row.getString("cancel_reason"),
                time(row, "create_time"),
                timeOrNull(row, "pay_time"),
                time(row, "update_time"));
    }

    /**
     * Reads a time column. Database sessions use UTC, so the column is in UTC, independent of the time zone
     * of this machine.
     */
    static Instant time(ResultSet row, String column) throws SQLException {
        return row.getObject(column, LocalDateTime.class).toInstant(ZoneOffset.UTC);
    }

    static @Nullable Instant timeOrNull(ResultSet row, String column) throws SQLException {
        LocalDateTime time = row.getObject(column, LocalDateTime.class);
        return time == null ? null : time.toInstant(ZoneOffset.UTC);
    }
}
