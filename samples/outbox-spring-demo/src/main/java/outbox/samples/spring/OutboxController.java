package outbox.samples.spring;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import outbox.model.EventStatus;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Shows what the outbox holds and what was delivered. */
@RestController
class OutboxController {

    private final JdbcClient jdbc;
    private final Deliveries deliveries;

    OutboxController(JdbcClient jdbc, Deliveries deliveries) {
        this.jdbc = jdbc;
        this.deliveries = deliveries;
    }

    @GetMapping("/deliveries")
    List<Deliveries.Delivery> deliveries() {
        return deliveries.latest();
    }

    @GetMapping("/outbox")
    Map<EventStatus, Long> countsByStatus() {
        Map<EventStatus, Long> counts = new EnumMap<>(EventStatus.class);
        for (EventStatus status : EventStatus.values()) {
            counts.put(status, 0L);
        }
        jdbc.sql("SELECT status, COUNT(*) FROM outbox_event GROUP BY status").query(row -> {
            counts.put(EventStatus.of(row.getInt(1)), row.getLong(2));
        });
        return counts;
    }
}
