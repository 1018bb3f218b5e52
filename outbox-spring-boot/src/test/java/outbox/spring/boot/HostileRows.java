package outbox.spring.boot;

import org.springframework.jdbc.core.JdbcTemplate;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;

/**
 * Rows of an H2 table that were written with SQL. They have unusual values that can be delivered, or one bad column.
 * None of them was due long ago, because such a row is reported as late.
 *
 * @param good the ids of events that can be delivered
 * @param bad the ids of events that cannot be delivered
 */
public record HostileRows(List<String> good, List<String> bad) {

    private static final int ROWS = 60;
    private static final List<String> FINE = List.of(
            "created_at = TIMESTAMP '0001-01-01 00:00:00'",
            "event_type = 'a\u202eb\u001b[31m'",
            "payload = REPEAT('p', 60000)",
            "headers = '{\"n\": 1, \"nothing\": null}'",
            "last_error = 'a\nb'",
            "attempts = 5");
    private static final List<String> HOSTILE = List.of(
            "created_at = TIMESTAMP '-999999999-01-01 00:00:00'",
            "created_at = TIMESTAMP '999999999-12-31 23:59:59'",
            "available_at = TIMESTAMP '10000-01-01 00:00:00'",
            "locked_by = 'x', locked_at = TIMESTAMP '-999999999-01-01 00:00:00'",
            "headers = '{'",
            "headers = '[]'",
            "attempts = -1",
            "attempts = 2147483647",
            "payload = REPEAT('p', 2200000)");

    public static HostileRows write(JdbcTemplate jdbc, Random random) {
        HostileRows rows = new HostileRows(new ArrayList<>(), new ArrayList<>());
        for (int i = 0; i < ROWS; i++) {
            String id = UUID.randomUUID().toString();
            boolean isBad = random.nextInt(3) == 0;
            List<String> values = isBad ? HOSTILE : FINE;
            jdbc.update( // not due before the row is complete
                    "INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at)"
                            + " VALUES (?, 'order.placed', '{}', 3, LOCALTIMESTAMP, LOCALTIMESTAMP)",
                    id);
            jdbc.update(
                    "UPDATE outbox_event SET status = 0, " + values.get(random.nextInt(values.size()))
                            + " WHERE event_id = ?",
                    id);
            (isBad ? rows.bad() : rows.good()).add(id);
        }
        return rows;
    }
}
