package outbox.spring.boot;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The health of all outboxes of the application, in plain types: the lines of Spring Boot have different ones. It is answered in bounded time, and the database is asked at most every second. Dead
 * events do not count: they are an operator's work, not a reason to take a node out. Thread-safe.
 */
public final class OutboxHealth {

    static final String UP = "UP";
    static final String DOWN = "DOWN";
    static final String OUT_OF_SERVICE = "OUT_OF_SERVICE";
    private static final List<String> WORST_FIRST = List.of(DOWN, OUT_OF_SERVICE); // then others, then UP

    private final Supplier<List<OutboxInstance>> instances;
    private final OutboxHealthProperties properties;
    private final Supplier<List<HealthDetail>> others;
    private final Map<String, OutboxCheck> checks = new LinkedHashMap<>(); // by outbox; guarded by this

    OutboxHealth(
            Supplier<List<OutboxInstance>> instances,
            OutboxHealthProperties properties,
            Supplier<List<HealthDetail>> others) {
        this.instances = instances;
        this.properties = properties;
        this.others = others;
    }

    /**
     * Health at this moment.
     *
     * @param status the worst of all outboxes
     * @param details by the name of each outbox, and of what is shown besides
     */
    public record Report(String status, Map<String, Object> details) {}

    /** Looks at each outbox. Waits for each database up to {@code outbox.health.timeout}. */
    public Report report() {
        List<String> statuses = new ArrayList<>();
        Map<String, Object> details = new LinkedHashMap<>();
        for (OutboxCheck check : checks(instances.get())) {
            OutboxCheck.Result result = check.look();
            statuses.add(result.status());
            details.put(check.outbox(), result.details());
        }
        others.get().forEach(other -> details.put(other.name(), other.details()));
        return new Report(worst(statuses), details);
    }

    private synchronized List<OutboxCheck> checks(List<OutboxInstance> all) {
        for (OutboxInstance instance : all) {
            checks.computeIfAbsent(instance.name(), name -> new OutboxCheck(instance, properties));
        }
        return List.copyOf(checks.values());
    }

    private static String worst(List<String> statuses) {
        return WORST_FIRST.stream()
                .filter(statuses::contains)
                .findFirst()
                .orElseGet(() -> statuses.stream()
                        .filter(status -> !status.equals(UP))
                        .findFirst()
                        .orElse(UP));
    }
}
