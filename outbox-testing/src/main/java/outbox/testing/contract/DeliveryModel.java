package outbox.testing.contract;

import org.jspecify.annotations.Nullable;
import outbox.OutboxWriter.Change;
import outbox.model.EventStatus;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** A minimal model of the life of events in an outbox. It uses a map instead of a database. */
final class DeliveryModel {

    /** An event. A due time of null is earlier than all others. */
    static final class Event {
        final String id;
        final String type;
        final @Nullable String aggregate;
        final @Nullable String key;
        final boolean keepsKey;
        final long number;

        @Nullable
        Instant availableAt;

        @Nullable
        Instant expiresAt;

        EventStatus status = EventStatus.NEW;
        int attempts;

        @Nullable
        String lockedBy;

        @Nullable
        Instant lockedAt;

        Event(
                String id,
                String type,
                @Nullable String aggregate,
                @Nullable String key,
                boolean keepsKey,
                long number,
                @Nullable Instant availableAt,
                @Nullable Instant expiresAt) {
            this.id = id;
            this.type = type;
            this.aggregate = aggregate;
            this.key = key;
            this.keepsKey = keepsKey;
            this.number = number;
            this.availableAt = availableAt;
            this.expiresAt = expiresAt;
        }

        boolean isPending() {
            return !status.isTerminal();
        }

        boolean isDue(Instant now) {
            return availableAt == null || !availableAt.isAfter(now);
        }

        boolean isFree(Instant lockExpiry) {
            return lockedAt == null || lockedAt.isBefore(lockExpiry);
        }

        boolean hasKey(String other) {
            return other.equals(key) && (isPending() || status == EventStatus.DONE && keepsKey);
        }

        void unlock() {
            lockedBy = null;
            lockedAt = null;
        }

        @Override
        public String toString() {
            return "%s %s, %d attempts, held by %s".formatted(id, status, attempts, lockedBy);
        }
    }

    private final Map<String, Event> events = new LinkedHashMap<>();
    private final Set<String> paused = new HashSet<>();
    private final boolean ordered;
    private long lastNumber;

    DeliveryModel(boolean ordered) {
        this.ordered = ordered;
    }

    Map<String, Event> events() {
        return events;
    }

    /** Returns the event with this id, which must exist. */
    Event event(String id) {
        return Objects.requireNonNull(events.get(id), id);
    }

    long nextNumber() {
        return ++lastNumber;
    }

    Optional<Event> holderOf(@Nullable String key) {
        return key == null
                ? Optional.empty()
                : events.values().stream().filter(event -> event.hasKey(key)).findFirst();
    }

    /**
     * Adds the event unless another event holds its key. Returns the id of the event that then exists: this one, or
     * the holder of the key.
     */
    String write(Event event) {
        Optional<Event> holder = holderOf(event.key);
        if (holder.isEmpty()) {
            events.put(event.id, event);
        }
        return holder.orElse(event).id;
    }

    List<Event> claimable(Instant now, Instant lockExpiry) {
        return events.values().stream()
                .filter(event -> event.isPending()
                        && event.isDue(now)
                        && event.isFree(lockExpiry)
                        && !paused.contains(event.type)
                        && isNext(event))
                .toList();
    }

    private boolean isNext(Event event) {
        return !ordered
                || event.aggregate == null
                || events.values().stream()
                        .noneMatch(other -> Objects.equals(event.aggregate, other.aggregate)
                                && other.number < event.number
                                && other.status != EventStatus.DONE);
    }

    /** Returns whether the claim with this token holds the event. */
    boolean isHeld(String id, String token) {
        Event event = events.get(id);
        return event != null && event.isPending() && token.equals(event.lockedBy);
    }

    void mark(String id, EventStatus status, boolean counts, Instant now, Duration retryAfter) {
        Event event = event(id);
        event.status = status;
        event.attempts += counts ? 1 : 0;
        if (status == EventStatus.RETRY) {
            event.availableAt = now.plus(retryAfter);
        }
        event.unlock();
    }

    Change whetherChangeable(Optional<Event> found) {
        if (found.isEmpty()) {
            return Change.NOT_FOUND;
        }
        return found.get().isPending() && found.get().lockedBy == null ? Change.MADE : Change.TOO_LATE;
    }

    Stream<Event> with(EventStatus status) {
        return events.values().stream().filter(event -> event.status == status);
    }

    /** Makes a terminal event pending again. Returns false if another event holds its key. */
    boolean replay(Event event, Instant now) {
        if (holderOf(event.key).filter(holder -> holder != event).isPresent()) {
            return false;
        }
        event.status = EventStatus.NEW;
        event.attempts = 0;
        event.availableAt = now;
        event.expiresAt = null;
        return true;
    }

    /** Makes the events dead whose deadline has passed, except those with a valid lease. Returns their ids. */
    Set<String> expire(Instant now, Instant lockExpiry) {
        Set<String> expired = new HashSet<>();
        for (Event event : new ArrayList<>(events.values())) {
            if (event.isPending()
                    && event.expiresAt != null
                    && event.expiresAt.isBefore(now)
                    && event.isFree(lockExpiry)) {
                event.status = EventStatus.DEAD;
                event.unlock();
                expired.add(event.id);
            }
        }
        return expired;
    }

    Optional<Instant> nextDue(Instant now) {
        return events.values().stream()
                .filter(event -> event.isPending() && event.lockedBy == null && !event.isDue(now))
                .map(event -> event.availableAt)
                .flatMap(Stream::ofNullable)
                .min(Instant::compareTo);
    }

    Set<String> paused() {
        return paused;
    }
}
