package outbox.spring.boot.actuate;

import outbox.spring.boot.OutboxHealth;
import outbox.spring.boot.OutboxInstance;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Checks the outboxes in bounded time and queries each database at most once a second. Dead events are counted once a
 * minute and shown, but do not change the status: an operator handles them, and the node still works.
 */
final class CheckedHealth implements OutboxHealth {

    static final String UP = "UP";
    static final String DOWN = "DOWN";
    static final String OUT_OF_SERVICE = "OUT_OF_SERVICE";
    // followed by other statuses, then UP
    private static final List<String> WORST_FIRST = List.of(DOWN, OUT_OF_SERVICE);

    private final Supplier<List<OutboxInstance>> instances;
    private final OutboxHealthProperties properties;
    private final Supplier<List<HealthDetail>> others;
    private final Map<String, OutboxCheck> checks = new LinkedHashMap<>(); // by outbox; guarded by this

    CheckedHealth(
            Supplier<List<OutboxInstance>> instances,
            OutboxHealthProperties properties,
            Supplier<List<HealthDetail>> others) {
        this.instances = instances;
        this.properties = properties;
        this.others = others;
    }

    @Override
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
