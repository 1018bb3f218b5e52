package outbox.spring;

import org.jspecify.annotations.Nullable;
import outbox.spring.OutboxListeners.Entry;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** Finds the entry that an event belongs to. Immutable, except for a cache of results. */
final class Routes {

    private static final int MAX_REMEMBERED = 10_000; // number of pairs; further pairs are searched each time
    private static final Comparator<Entry> BY_SPECIFICITY = Comparator.comparing(
                    (Entry entry) -> new NamePattern(entry.eventType()), NamePattern.BY_SPECIFICITY)
            .thenComparing(entry -> new NamePattern(entry.aggregateType()), NamePattern.BY_SPECIFICITY);

    // declared after BY_SPECIFICITY, because the constructor uses it
    static final Routes NONE = new Routes(List.of());

    private record Pair(String aggregateType, String eventType) {}

    private final List<Entry> entries;
    private final Map<Pair, Entry> exact;
    private final List<Entry> patterns; // the most specific first
    private final Map<Pair, Optional<Entry>> remembered = new ConcurrentHashMap<>(); // results of pattern searches

    private Routes(List<Entry> entries) {
        this.entries = entries;
        Map<Pair, Entry> pairs = new HashMap<>();
        entries.stream()
                .filter(entry -> !entry.isPattern())
                .forEach(entry -> pairs.put(new Pair(entry.aggregateType(), entry.eventType()), entry));
        exact = Map.copyOf(pairs);
        patterns =
                entries.stream().filter(Entry::isPattern).sorted(BY_SPECIFICITY).toList();
    }

    Routes with(Entry added) {
        for (Entry entry : entries) {
            if (BY_SPECIFICITY.compare(entry, added) == 0 && overlap(entry, added)) {
                throw new DuplicateListenerException(refusal(entry, added));
            }
        }
        List<Entry> more = new ArrayList<>(entries);
        more.add(added);
        return new Routes(List.copyOf(more));
    }

    private static boolean overlap(Entry one, Entry other) {
        return new NamePattern(one.aggregateType()).overlaps(new NamePattern(other.aggregateType()))
                && new NamePattern(one.eventType()).overlaps(new NamePattern(other.eventType()));
    }

    private static String refusal(Entry one, Entry other) {
        return "Two listeners for " + other.aggregateType() + ":" + other.eventType() + ": " + one.origin() + " ("
                + one.aggregateType() + ":" + one.eventType() + ") and " + other.origin()
                + ". An event has one listener, whose success is its own. Let one method call both, hand the event to a"
                + " transport that several consumers read, or write a second event of another type or aggregate type.";
    }

    @Nullable
    Entry find(String aggregateType, String eventType) {
        Pair pair = new Pair(aggregateType, eventType);
        Entry entry = exact.get(pair);
        return entry != null || patterns.isEmpty() ? entry : byPattern(pair);
    }

    private @Nullable Entry byPattern(Pair pair) {
        Optional<Entry> known = remembered.get(pair);
        if (known == null) {
            known = patterns.stream()
                    .filter(entry -> new NamePattern(entry.eventType()).fits(pair.eventType())
                            && new NamePattern(entry.aggregateType()).fits(pair.aggregateType()))
                    .findFirst();
            if (remembered.size() < MAX_REMEMBERED) {
                remembered.put(pair, known);
            }
        }
        return known.orElse(null);
    }

    List<Entry> entries() {
        return entries;
    }

    Optional<Set<String>> pairs() {
        return patterns.isEmpty()
                ? Optional.of(exact.keySet().stream()
                        .map(pair -> pair.aggregateType() + ":" + pair.eventType())
                        .collect(Collectors.toUnmodifiableSet()))
                : Optional.empty();
    }
}
