package outbox.samples.market;

import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Collection;
import java.util.List;

/** Reads the history of events from the two tables whose layout the specification fixes. */
@Component
class EventWays {

    private static final String FIND = """
            SELECT e.event_id, e.event_type, e.aggregate_id, e.payload, e.status, e.retry_count,
                   e.next_retry_time, e.create_time, e.update_time, c.consumer, c.consume_time
              FROM outbox_events e
              LEFT JOIN event_consume_log c ON c.event_id = e.event_id
             WHERE e.aggregate_type = 'Order'
               AND e.aggregate_id IN (:orders)
             ORDER BY e.id
            """;

    private final JdbcClient jdbc;

    EventWays(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    List<EventWay> of(long orderId) {
        return of(List.of(orderId));
    }

    List<EventWay> of(Collection<Long> orderIds) {
        return orderIds.isEmpty()
                ? List.of()
                : jdbc.sql(FIND).param("orders", orderIds).query(EventWays::way).list();
    }

    private static EventWay way(ResultSet row, int number) throws SQLException {
        StoredPayload stored = StoredPayload.parse(row.getString("payload"));
        return new EventWay(
                row.getString("event_id"),
                row.getString("event_type"),
                row.getLong("aggregate_id"),
                stored.traceId(),
                stored.payload(),
                row.getString("status"),
                row.getInt("retry_count"),
                Order.timeOrNull(row, "next_retry_time"),
                Order.time(row, "create_time"),
                Order.time(row, "update_time"),
                consumption(row));
    }

    private static EventWay.@Nullable Consumption consumption(ResultSet row) throws SQLException {
        String consumer = row.getString("consumer");
        return consumer == null ? null : new EventWay.Consumption(consumer, Order.time(row, "consume_time"));
    }
}
