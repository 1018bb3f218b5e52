package outbox.spring.boot;

import java.util.Map;

/**
 * The health of all outboxes of the application, as plain Java types, because Spring Boot 3 and 4 have
 * different health types.
 */
public interface OutboxHealth {

    /**
     * The current health.
     *
     * @param status the worst status of all outboxes
     * @param details by the name of each outbox, plus the additional details
     */
    record Report(String status, Map<String, Object> details) {}

    /** Checks each outbox. Waits for each database up to {@code outbox.health.timeout}. Thread-safe. */
    Report report();
}
