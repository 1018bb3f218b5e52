package outbox.dispatch;

import outbox.admin.Pause;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** The pauses, as last read from the table. */
record Paused(List<Pause> all, boolean everything, Set<String> types, Set<String> listeners) {

    static final Paused NOTHING = of(List.of());

    /** Before the first read: everything counts as paused. */
    static final Paused UNKNOWN = new Paused(List.of(), true, Set.of(), Set.of());

    static Paused of(List<Pause> pauses) {
        return new Paused(
                List.copyOf(pauses),
                pauses.stream().anyMatch(pause -> pause.scope() == Pause.Scope.OUTBOX),
                names(pauses, Pause.Scope.TYPE),
                names(pauses, Pause.Scope.LISTENER));
    }

    private static Set<String> names(List<Pause> pauses, Pause.Scope scope) {
        return pauses.stream()
                .filter(pause -> pause.scope() == scope)
                .map(Pause::name)
                .collect(Collectors.toUnmodifiableSet());
    }

    boolean isNothing() {
        return all.isEmpty() && !everything;
    }

    /** Whether something that was paused before is no longer paused. */
    boolean resumesSomeOf(Paused before) {
        return before.everything && !everything
                || !types.containsAll(before.types)
                || !listeners.containsAll(before.listeners);
    }
}
