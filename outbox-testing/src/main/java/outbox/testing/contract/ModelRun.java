package outbox.testing.contract;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.OutboxWriter;
import outbox.OutboxWriter.Change;
import outbox.admin.EventAdministration;
import outbox.admin.EventAdministration.Replay;
import outbox.admin.EventPauses;
import outbox.admin.Pause;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimRequest.Withheld;
import outbox.spi.ClaimedEvent;
import outbox.spi.EventControl;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;
import outbox.testing.contract.DeliveryModel.Event;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Executes steps on a store and on the model and returns the first difference. Its clock is ahead of the database
 * clock, so that events are due as soon as they are written. For one thread only.
 */
final class ModelRun {

    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final Duration LONG = Duration.ofDays(30);
    private static final int MAX_CLAIMS = 60; // number of claims that are kept for later steps
    private static final int ALL = 100_000;
    private static final String REASON = "Expired";

    /** A claim of an event. It may have expired. */
    private record Held(String eventId, String token) {}

    private final StoreFixture db;
    private final LeasingEventStore store;
    private final EventControl control; // of the same store
    private final EventPauses pausing; // of the same store
    private final EventAdministration admin; // of the same store
    private final Ordering ordering;
    private final DeliveryModel model;
    private final StepTx tx = new StepTx();
    private final OutboxWriter writer;
    private final List<Held> claims = new ArrayList<>();
    private Instant now;
    private int claimed;
    private int written;

    ModelRun(StoreFixture db, boolean ordered) {
        this.db = db;
        store = db.store();
        control = store.capability(EventControl.class).orElseThrow();
        pausing = store.capability(EventPauses.class).orElseThrow();
        admin = EventAdministration.of(store);
        ordering = ordered ? Ordering.perAggregate() : Ordering.off();
        model = new DeliveryModel(ordered);
        writer = new OutboxWriter(tx, store);
        now = db.now().plus(Duration.ofDays(1)).truncatedTo(ChronoUnit.SECONDS);
        db.clear();
        db.inTransaction(connection -> {
            for (Pause pause : pausing.pauses(connection)) {
                pausing.resume(connection, pause.scope(), pause.name());
            }
        });
    }

    /** Executes a step. Returns the difference that it revealed, or null. */
    @Nullable
    String take(ModelStep step) {
        now = now.plusNanos(10_000); // each step has its own time
        return switch (step.kind()) {
            case WRITE -> write(step);
            case ADVANCE -> advance(step);
            case CLAIM -> claim(step);
            case MARK -> mark(step);
            case RELEASE -> release(step);
            case RENEW -> renew(step);
            case CRASH -> crash();
            case CANCEL -> cancel(step);
            case RESCHEDULE -> reschedule(step);
            case REPLACE -> replace(step);
            case REPLAY -> replay(step);
            case DISCARD -> discard();
            case EXPIRE -> expire();
            case PURGE -> purge();
            case PAUSE, RESUME -> pause(step);
            case LOOK -> look();
        };
    }

    private static @Nullable String compare(String what, Object expected, Object actual) {
        return expected.equals(actual) ? null : what + ":\n      expected " + expected + "\n      but was  " + actual;
    }

    /** Runs the work in a transaction that may be rolled back. */
    private <T> T inTransaction(ModelStep step, Function<OutboxWriter, T> work) {
        return tx.in(db, step.rolledBack(), () -> work.apply(writer));
    }

    // ---- the application ----

    private @Nullable String write(ModelStep step) {
        List<EventEnvelope> envelopes = new ArrayList<>();
        List<Event> events = new ArrayList<>();
        for (int i = 0; i <= step.d() % 3; i++) {
            Event event = event(step, i);
            events.add(event);
            envelopes.add(envelope(event, step.c() + i));
        }
        List<String> ids = inTransaction(step, with -> with.writeAll(envelopes));
        Set<String> before = Set.copyOf(model.events().keySet());
        List<String> expected = events.stream().map(model::write).toList();
        if (step.rolledBack()) {
            model.events().keySet().retainAll(before);
        }
        return compare("ids of a write", expected, ids);
    }

    private Event event(ModelStep step, int index) {
        int a = step.a() + index;
        int b = step.b() + index;
        @Nullable String key = b % 3 == 0 ? "key " + b % 7 : null;
        @Nullable Instant due = step.c() % 3 == 0 ? now.plusSeconds(step.c() % 60) : null;
        return new Event(
                "event-%06d".formatted(++written),
                "type-" + a % 3,
                a % 4 == 0 ? null : "aggregate " + a % 5,
                key,
                key != null && b % 5 == 0,
                model.nextNumber(),
                due,
                step.c() % 7 == 0
                        ? (due == null ? now : due).plusSeconds(step.a() % 60).plusMillis(500)
                        : null);
    }

    private static EventEnvelope envelope(Event event, int priority) {
        EventEnvelope.Builder builder = EventEnvelope.builder(event.type)
                .eventId(event.id)
                .payloadJson("{}")
                .priority(priority % 10);
        if (event.aggregate != null) {
            builder.aggregateType("Model").aggregateId(event.aggregate);
        }
        if (event.key != null) {
            builder.dedupKey(event.key);
        }
        if (event.keepsKey) {
            builder.dedupFor(LONG);
        }
        if (event.availableAt != null) {
            builder.availableAt(event.availableAt);
        }
        if (event.expiresAt != null) {
            builder.expiresAt(event.expiresAt);
        }
        return builder.build();
    }

    private @Nullable String cancel(ModelStep step) {
        Optional<Event> meant = meant(step);
        Change expected = model.whetherChangeable(meant);
        Change answer = inTransaction(step, with -> with.cancel(reference(step, meant)));
        if (expected == Change.MADE && !step.rolledBack()) {
            model.events().remove(meant.orElseThrow().id);
        }
        return compare("answer to a cancel", expected, answer);
    }

    private @Nullable String reschedule(ModelStep step) {
        Optional<Event> meant = meant(step);
        Change expected = model.whetherChangeable(meant);
        Instant time = now.plusSeconds(step.c() % 40);
        Change answer = inTransaction(step, with -> with.reschedule(reference(step, meant), time));
        if (expected == Change.MADE && !step.rolledBack()) {
            meant.orElseThrow().availableAt = time;
        }
        return compare("answer to a reschedule", expected, answer);
    }

    private @Nullable String replace(ModelStep step) {
        Event event = new Event(
                "event-%06d".formatted(++written),
                "type-" + step.a() % 3,
                "aggregate " + step.a() % 5,
                "key " + step.b() % 7,
                false,
                model.nextNumber(),
                null,
                null);
        Optional<Event> holder = model.holderOf(event.key);
        Change expected = model.whetherChangeable(holder);
        Change answer = inTransaction(step, with -> with.replace(envelope(event, 0)));
        if (expected == Change.MADE && !step.rolledBack()) {
            model.events().remove(holder.orElseThrow().id);
            model.write(event);
        }
        return compare("answer to a replace", expected, answer);
    }

    /** Returns the event that the step refers to by key or by id. Empty if the step uses an unknown one. */
    private Optional<Event> meant(ModelStep step) {
        if (step.a() % 2 == 0) {
            return model.holderOf("key " + step.b() % 7);
        }
        List<Event> all = List.copyOf(model.events().values());
        return all.isEmpty() || step.b() % 10 == 0 ? Optional.empty() : Optional.of(all.get(step.b() % all.size()));
    }

    private static EventRef reference(ModelStep step, Optional<Event> meant) {
        return step.a() % 2 == 0
                ? EventRef.key("key " + step.b() % 7)
                : EventRef.id(meant.map(event -> event.id).orElse("nobody"));
    }

    // ---- delivery ----

    private @Nullable String advance(ModelStep step) {
        now = now.plusSeconds(1 + step.a() % (step.b() % 5 == 0 ? 60 : 8));
        return null;
    }

    private Instant lockExpiry() {
        return now.minus(LEASE);
    }

    private @Nullable String claim(ModelStep step) {
        int limit = step.a() % 3 == 0 ? 1 + step.b() % 5 : ALL;
        Claim claim = new Claim("claim-" + ++claimed, Long.MAX_VALUE);
        List<Event> claimable = model.claimable(now, lockExpiry());
        List<ClaimedEvent> taken = db.call(connection -> {
            Set<String> types =
                    pausing.pauses(connection).stream().map(Pause::name).collect(Collectors.toSet());
            Withheld withheld = new Withheld(types, Set.of(), Set.of());
            return store.claim(
                    connection,
                    claim,
                    ClaimRequest.of(now, lockExpiry(), limit).inOrder(ordering).except(withheld));
        });
        Map<String, Boolean> suspects = new TreeMap<>();
        taken.forEach(one -> suspects.put(one.event().eventId(), one.suspect()));
        Map<String, Boolean> expected = new TreeMap<>();
        claimable.stream()
                .filter(event -> limit == ALL || suspects.containsKey(event.id))
                .forEach(event -> expected.put(event.id, event.lockedBy != null));
        if (taken.size() != Math.min(limit, claimable.size())) {
            return "number of claimed events, limit " + limit + ": expected of " + claimable + " but was " + suspects;
        }
        for (ClaimedEvent one : taken) {
            Event event = model.events().get(one.event().eventId());
            if (event != null) {
                event.lockedBy = claim.token();
                event.lockedAt = now;
                remember(new Held(event.id, claim.token()));
            }
        }
        return compare("claimed events, and whether they are suspects", expected, suspects);
    }

    private void remember(Held held) {
        claims.add(held);
        if (claims.size() > MAX_CLAIMS) {
            claims.remove(0);
        }
    }

    private @Nullable String mark(ModelStep step) {
        if (claims.isEmpty()) {
            return null;
        }
        Held held = claims.get(step.a() % claims.size());
        boolean counts = step.c() % 4 != 0;
        Duration retryAfter = Duration.ofSeconds(step.d() % 30);
        Mark mark = switch (step.b() % 8) {
            case 0 -> Mark.dead(held.eventId(), held.token(), counts, "dead");
            case 1, 2 -> Mark.retry(held.eventId(), held.token(), counts, retryAfter, "again");
            default -> Mark.done(held.eventId(), held.token());
        };
        boolean isHeld = model.isHeld(held.eventId(), held.token());
        Set<String> answer = db.call(connection -> store.mark(connection, List.of(mark), now));
        if (isHeld) {
            model.mark(held.eventId(), mark.status(), mark.countsAttempt(), now, retryAfter);
        }
        return compare("marked " + mark.status(), isHeld ? Set.of(held.eventId()) : Set.of(), answer);
    }

    private @Nullable String release(ModelStep step) {
        if (claims.isEmpty()) {
            return null;
        }
        String token = claims.get(step.a() % claims.size()).token();
        Set<String> ids = idsOf(token);
        Set<String> held = heldOf(token);
        boolean asSuspects = step.b() % 2 == 0;
        int answer = db.call(connection ->
                asSuspects ? store.releaseSuspects(connection, token, ids) : store.release(connection, token, ids));
        for (String id : held) {
            if (asSuspects) {
                model.event(id).lockedAt = Instant.EPOCH;
            } else {
                model.event(id).unlock();
            }
        }
        return compare("number of released events", held.size(), answer);
    }

    private @Nullable String renew(ModelStep step) {
        if (claims.isEmpty()) {
            return null;
        }
        String token = claims.get(step.a() % claims.size()).token();
        Set<String> ids = idsOf(token);
        Set<String> held = heldOf(token);
        Set<String> answer = db.call(connection -> store.renew(connection, token, ids, now));
        held.forEach(id -> model.event(id).lockedAt = now);
        return compare("renewed events", held, answer);
    }

    private Set<String> idsOf(String token) {
        return claims.stream()
                .filter(held -> held.token().equals(token))
                .map(Held::eventId)
                .collect(Collectors.toSet());
    }

    private Set<String> heldOf(String token) {
        return idsOf(token).stream().filter(id -> model.isHeld(id, token)).collect(Collectors.toSet());
    }

    /** Simulates a crash: the node loses its claims. */
    private @Nullable String crash() {
        claims.clear();
        return null;
    }

    private @Nullable String expire() {
        Set<String> expected = model.expire(now, lockExpiry());
        List<String> answer = db.call(connection -> control.expire(connection, now, lockExpiry(), REASON, ALL));
        return compare("expired events", expected, new HashSet<>(answer));
    }

    // ---- the operator ----

    private @Nullable String replay(ModelStep step) {
        Set<EventStatus> from =
                step.b() % 2 == 0 ? Set.of(EventStatus.DEAD) : Set.of(EventStatus.DEAD, EventStatus.DONE);
        List<String> ids = model.events().values().stream()
                .filter(event -> event.status.isTerminal())
                .limit(1 + step.a() % 3)
                .map(event -> event.id)
                .toList();
        Replay how = new Replay("model", from, null, now, Duration.ZERO);
        int answer = db.call(connection -> admin.replay(connection, ids, how));
        long expected = ids.stream()
                .filter(id -> from.contains(model.event(id).status) && model.replay(model.event(id), now))
                .count();
        return compare("number of replayed events", (int) expected, answer);
    }

    private @Nullable String discard() {
        List<String> dead = model.with(EventStatus.DEAD).map(event -> event.id).toList();
        int answer = db.call(connection -> admin.discard(connection, dead));
        dead.forEach(model.events()::remove);
        return compare("number of discarded events", dead.size(), answer);
    }

    private @Nullable String purge() {
        Set<String> done = model.with(EventStatus.DONE)
                .filter(event -> !event.keepsKey)
                .map(event -> event.id)
                .collect(Collectors.toSet());
        int answer = db.call(connection -> admin.purge(connection, EventStatus.DONE, now.plus(LONG), ALL));
        model.events().keySet().removeAll(done);
        return compare("number of purged events", done.size(), answer);
    }

    private @Nullable String pause(ModelStep step) {
        String type = "type-" + step.a() % 3;
        boolean pauses = step.kind() == ModelStep.Kind.PAUSE;
        boolean answer = db.call(connection -> pauses
                ? pausing.pause(connection, new Pause(Pause.Scope.TYPE, type, now, "model", "a test"))
                : pausing.resume(connection, Pause.Scope.TYPE, type));
        boolean expected = pauses ? model.paused().add(type) : model.paused().remove(type);
        return compare(step.kind() + " of " + type, expected, answer);
    }

    // ---- the whole state ----

    /** Compares all rows and the next due time. */
    @Nullable
    String look() {
        Map<String, String> expected = new TreeMap<>();
        model.events().values().forEach(event -> expected.put(event.id, event + due(event.availableAt)));
        Map<String, String> rows = rows();
        String difference = expected.equals(rows)
                ? null
                : Stream.concat(expected.keySet().stream(), rows.keySet().stream())
                        .distinct()
                        .filter(id -> !Optional.ofNullable(expected.get(id)).equals(Optional.ofNullable(rows.get(id))))
                        .map(id -> "row:\n      expected " + expected.get(id) + "\n      but was  " + rows.get(id))
                        .findFirst()
                        .orElseThrow();
        return difference != null
                ? difference
                : compare("next due time", model.nextDue(now), db.call(connection -> control.nextDue(connection, now)));
    }

    /**
     * Formats the due time. Events that are due at once have the insert time of the database, which the model does
     * not know; they are shown without a time.
     */
    private String due(@Nullable Instant availableAt) {
        return availableAt == null ? "" : ", due at " + availableAt;
    }

    private Map<String, String> rows() {
        Map<String, String> rows = new TreeMap<>();
        db.all().forEach((id, placed) -> {
            Event event = model.events().get(id);
            StoreFixture.Row row = placed.row();
            rows.put(
                    id,
                    "%s %s, %d attempts, held by %s".formatted(id, row.status(), row.attempts(), row.lockedBy())
                            + due(event == null || event.availableAt == null ? null : placed.availableAt()));
        });
        return rows;
    }
}
