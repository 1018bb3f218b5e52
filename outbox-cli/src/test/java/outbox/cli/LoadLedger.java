package outbox.cli;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

/** Records committed and rolled-back events, and how often each must be received. Thread-safe. */
final class LoadLedger {

    private final Map<String, Integer> due = new ConcurrentHashMap<>(); // attempts, by event id
    private final Map<String, Integer> received = new ConcurrentHashMap<>();
    private final Set<String> undone = ConcurrentHashMap.newKeySet();

    /** Records a committed event. It must be received once more for each failing attempt. */
    void committed(String eventId, int failures) {
        due.merge(eventId, 1 + failures, Integer::sum);
    }

    void rolledBack(String eventId) {
        undone.add(eventId);
    }

    void replayed(String eventId) {
        due.merge(eventId, 1, Integer::sum);
    }

    /** Returns how often the event has been received before. */
    int receive(String eventId) {
        return received.merge(eventId, 1, Integer::sum) - 1;
    }

    /** More receipts than necessary are allowed: delivery is at least once. */
    void assertBalanced() {
        Map<String, Integer> missing = due.entrySet().stream()
                .filter(event -> received.getOrDefault(event.getKey(), 0) < event.getValue())
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));

        // without AssertJ, which would compare each element with each
        Set<String> tooMany = new HashSet<>(received.keySet());
        tooMany.removeAll(due.keySet());

        assertThat(missing).as("events that were not received as often as due").isEmpty();
        assertThat(tooMany)
                .as("events that were received and not committed; rolled back: %s", undone)
                .isEmpty();
    }

    @Override
    public String toString() {
        return due.size() + " events committed, " + undone.size() + " rolled back, " + sum(due) + " attempts due, "
                + sum(received) + " made";
    }

    private static int sum(Map<String, Integer> counts) {
        return counts.values().stream().mapToInt(count -> count).sum();
    }
}
