package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventAdministration;
import outbox.admin.EventDetails.Attempt;
import outbox.admin.EventPauses;
import outbox.admin.Pause;
import outbox.internal.ClaimTokens;
import outbox.internal.StoreAccess;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventOrder;
import outbox.spi.EventOrder.Position;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The store as a dispatcher uses it. All reads and writes of an event that the dispatcher holds go through this
 * class, under the claim of that event. A store that does not support claims is used by event id alone. Thread-safe.
 */
final class ClaimedStore {

    static final int DEFAULT_ATTEMPTS = 10;

    private final EventStore store;
    // the capabilities of the store, null if it lacks them
    private final @Nullable LeasingEventStore leasing;
    private final @Nullable EventOrder numbering;
    private final @Nullable EventPauses pausing;
    private final @Nullable EventAdministration history;
    private final StoreAccess access;
    private final ClaimTokens tokens;
    private final boolean deleteDone;
    private Duration lease; // guarded by this; never lengthened
    private volatile int keptAttempts = DEFAULT_ATTEMPTS; // per event; set before the first write

    ClaimedStore(
            ConnectionProvider connections,
            EventStore store,
            @Nullable String ownerId,
            Duration lease,
            @Nullable Duration databaseTimeout,
            boolean deleteDone) {
        this.store = store;
        this.leasing = store.capability(LeasingEventStore.class).orElse(null);
        this.numbering = store.capability(EventOrder.class).orElse(null);
        this.pausing = store.capability(EventPauses.class).orElse(null);
        this.history = store.capability(EventAdministration.class).orElse(null);
        this.access = new StoreAccess(connections, store, () -> StoreAccess.timeoutWithin(lease(), databaseTimeout));
        this.tokens = new ClaimTokens(ownerId);
        this.lease = lease;
        this.deleteDone = deleteDone;
        if (deleteDone && leasing == null) {
            throw new IllegalArgumentException("deleteDone needs a store that can delete under a claim, but "
                    + store.getClass().getName() + " does not implement " + LeasingEventStore.class.getName());
        }
    }

    /** Throws if the given store uses another table. */
    void requireTable(EventStore other) {
        String ours = tableName();
        String theirs = tableName(other.capability(LeasingEventStore.class).orElse(null));
        if (ours != null && theirs != null && !isSameTable(ours, theirs)) {
            throw new IllegalArgumentException("The dispatcher of this hook delivers events of table " + ours
                    + ", but the writer writes to table " + theirs
                    + ". Give each writer the hook of its own dispatcher.");
        }
    }

    /** Returns the name of the table; null if the store does not know it. */
    @Nullable
    String tableName() {
        return tableName(leasing);
    }

    private static @Nullable String tableName(@Nullable LeasingEventStore store) {
        return store == null ? null : store.tableName();
    }

    /**
     * Names are not quoted, so they are compared without case. A name without a schema matches that table
     * in any schema.
     */
    private static boolean isSameTable(String one, String other) {
        String longer = one.length() > other.length() ? one : other;
        String shorter = one.length() > other.length() ? other : one;
        return one.equalsIgnoreCase(other)
                || shorter.indexOf('.') < 0
                        && longer.substring(longer.indexOf('.') + 1).equalsIgnoreCase(shorter);
    }

    /** Sets how many attempts the history of an event contains at most; 0 for no history. */
    void keepAttempts(int most) {
        keptAttempts = most;
    }

    synchronized Duration lease() {
        return lease;
    }

    synchronized void limitLease(Duration longest) {
        if (lease.compareTo(longest) > 0) {
            lease = longest;
        }
    }

    /**
     * Returns how long the claim still lasts. Zero for a claim that is longer than the current lease, because the
     * lease was shortened since: to other nodes the claim may be over, so the caller must ask the database.
     */
    Duration remaining(Claim claim) {
        Duration remaining = claim.remaining();
        return remaining.compareTo(lease()) > 0 ? Duration.ZERO : remaining;
    }

    boolean knowsClaims() {
        return leasing != null;
    }

    /**
     * Returns the claim under which an event for this dispatcher is inserted, or null for a store without claims.
     */
    @Nullable
    Claim birthClaim() {
        return leasing == null ? null : Claim.startingNow(tokens.birthToken(), lease());
    }

    /**
     * Ensures that this dispatcher holds the event for a while. Returns false if the event is finished, is claimed
     * by another node, or has no row.
     */
    boolean ensureClaim(Delivery delivery) {
        Claim current = delivery.claim();
        if (leasing == null || current != null && remaining(current).compareTo(lease().dividedBy(10)) > 0) {
            return true;
        }
        Claim fresh = tokens.next(lease());
        LeasingEventStore claiming = leasing;
        Optional<ClaimedEvent> claimed = access.inTransaction("claim event " + delivery.eventId(), connection -> {
            Instant now = access.now(connection);
            return claiming.claimOne(
                    connection, fresh, delivery.eventId(), now, access.expiry(connection, lease()), current);
        });
        claimed.ifPresent(delivery::claimed);
        return claimed.isPresent();
    }

    /** Whether the deadline of the event has passed. */
    boolean isExpired(Delivery delivery) {
        Instant deadline = delivery.envelope().expiresAt();
        return deadline != null && access.isPast(deadline);
    }

    /**
     * Counts the run that is about to start. Returns false if the event is no longer claimed by this dispatcher. If
     * the database does not respond, the run is treated as recorded: the release of the event restores the number of
     * attempts in either case.
     */
    boolean recordRun(Delivery delivery) {
        delivery.runRecorded();
        LeasingEventStore recording = leasing;
        return recording == null
                || access.inTransaction(
                        "record a run of event " + delivery.eventId(),
                        connection -> recording.setAttempts(
                                connection, delivery.token(), delivery.eventId(), delivery.attempts()));
    }

    /** Whether an event can be released as a suspect. */
    boolean knowsSuspects() {
        return leasing != null;
    }

    /**
     * The result of a write.
     *
     * @param ours the events that were still claimed by this dispatcher and were written
     * @param locked the events whose rows another transaction has locked; they were neither read nor written
     */
    record Written(Set<String> ours, Set<String> locked) {}

    /**
     * Renews leases in one transaction.
     *
     * @param passLocked whether to skip locked rows instead of failing; needs one more statement
     */
    Written renew(String token, List<String> eventIds, boolean passLocked) {
        LeasingEventStore renewing = leasing;
        return renewing == null
                ? new Written(Set.copyOf(eventIds), Set.of())
                : access.inTransaction("renew the leases of " + eventIds.size() + " events", connection -> {
                    Set<String> locked = passLocked ? renewing.lockFree(connection, eventIds) : Set.of();
                    List<String> free =
                            eventIds.stream().filter(id -> !locked.contains(id)).toList();
                    return new Written(renewing.renew(connection, token, free, access.now(connection)), locked);
                });
    }

    /**
     * Writes outcomes and releases in one transaction.
     *
     * @param passLocked whether to skip locked rows instead of failing; needs one more statement
     */
    Written write(OutcomeGroup group, boolean passLocked) {
        return access.inTransaction("write " + group.size() + " outcomes", connection -> {
            Set<String> locked = passLocked ? lockFree(connection, group) : Set.of();
            release(connection, without(locked, group.releases(), Release::eventId));
            List<Mark> free = without(locked, group.marks(), Mark::eventId);
            Set<String> written = free.isEmpty() ? Set.of() : mark(connection, free, group.keepKey());
            if (!group.runs().isEmpty() && keptAttempts > 0 && history != null) {
                remember(history, connection, group, written);
            }
            return new Written(written, locked);
        });
    }

    private Set<String> lockFree(Connection connection, OutcomeGroup group) {
        if (leasing == null) {
            return Set.of();
        }
        Set<String> ids = new HashSet<>();
        group.marks().forEach(mark -> ids.add(mark.eventId()));
        group.releases().forEach(release -> ids.add(release.eventId()));
        return leasing.lockFree(connection, ids);
    }

    private static <T> List<T> without(Set<String> locked, List<T> all, Function<T, String> id) {
        return locked.isEmpty()
                ? all
                : all.stream().filter(one -> !locked.contains(id.apply(one))).toList();
    }

    /**
     * Adds the runs to the history. Skips events whose mark was not written, because this dispatcher had lost them.
     * Deletes the history of deleted events.
     */
    private void remember(EventAdministration keeping, Connection connection, OutcomeGroup group, Set<String> written) {
        if (!keeping.keepsAttempts(connection)) {
            return;
        }
        Instant now = access.earliest(connection); // the earliest estimate, so that no run starts in the future
        List<Attempt> attempts = new ArrayList<>();
        List<String> deleted = new ArrayList<>();
        for (EndedRun run : group.runs()) {
            String eventId = run.mark().eventId();
            if (deleteDone && run.isDone() && !group.keepKey().contains(eventId)) {
                deleted.add(eventId);
            } else {
                attempts.add(run.at(now, tokens.owner()));
            }
        }
        attempts.removeIf(attempt -> !written.contains(attempt.eventId()));
        deleted.removeIf(eventId -> !written.contains(eventId));
        if (!attempts.isEmpty()) {
            keeping.addAttempts(connection, attempts, keptAttempts);
        }
        if (!deleted.isEmpty()) {
            keeping.forgetAttempts(connection, deleted);
        }
    }

    private Set<String> mark(Connection connection, List<Mark> marks, Set<String> keepKey) {
        Instant now = access.now(connection);
        if (leasing != null) {
            return deleteDone
                    ? markAndRemove(leasing, connection, marks, keepKey, now)
                    : leasing.mark(connection, marks, now);
        }
        return marks.stream()
                .filter(mark -> markById(connection, mark, now) > 0)
                .map(Mark::eventId)
                .collect(Collectors.toSet());
    }

    private static Set<String> markAndRemove(
            LeasingEventStore store, Connection connection, List<Mark> marks, Set<String> keepKey, Instant now) {
        List<Mark> done = new ArrayList<>();
        List<Mark> others = new ArrayList<>();
        for (Mark mark : marks) {
            boolean removable = mark.status() == EventStatus.DONE && !keepKey.contains(mark.eventId());
            (removable ? done : others).add(mark);
        }
        Set<String> written = new HashSet<>(store.remove(connection, done));
        written.addAll(store.mark(connection, others, now));
        return written;
    }

    /** Throws if the store or its table does not number events. */
    void requireOrder() {
        EventOrder order = order();
        access.inTransaction("check the table for ordered delivery", connection -> {
            order.requireOrder(connection);
            return true;
        });
    }

    /** Returns the current positions of the events in the order of their aggregates. */
    Map<String, Position> positions(List<String> eventIds, Ordering ordering) {
        EventOrder order = order();
        return access.inTransaction(
                "read the order of " + eventIds.size() + " events",
                connection -> order.positions(connection, eventIds, ordering));
    }

    /** Whether the store can store pauses. */
    boolean knowsPauses() {
        return pausing != null;
    }

    /** Returns the pauses, or empty if the store does not support pauses or has no table for them. */
    Optional<List<Pause>> pauses() {
        EventPauses known = pausing;
        return known == null
                ? Optional.empty()
                : access.inTransaction(
                        "read what is paused",
                        connection ->
                                known.hasPauses(connection) ? Optional.of(known.pauses(connection)) : Optional.empty());
    }

    private EventOrder order() {
        if (numbering != null) {
            return numbering;
        }
        throw new IllegalArgumentException("ordering needs a store that numbers its events, but "
                + store.getClass().getName() + " does not implement " + EventOrder.class.getName());
    }

    private int markById(Connection connection, Mark mark, Instant now) {
        return switch (mark.status()) {
            case DONE -> store.markDone(connection, mark.eventId());
            case RETRY -> store.markRetry(connection, mark.eventId(), now.plus(mark.retryAfter()), mark.error());
            case DEAD -> store.markDead(connection, mark.eventId(), mark.error());
            case NEW -> throw new IllegalStateException("NEW is not an outcome");
        };
    }

    private void release(Connection connection, List<Release> releases) {
        if (leasing == null) {
            return;
        }
        LeasingEventStore releasing = leasing;
        releases.stream()
                .filter(Release::recorded)
                .forEach(release ->
                        releasing.setAttempts(connection, release.token(), release.eventId(), release.attempts()));
        idsByToken(releases, false).forEach((token, ids) -> releasing.release(connection, token, ids));
        idsByToken(releases, true).forEach((token, ids) -> releasing.releaseSuspects(connection, token, ids));
    }

    private static Map<String, List<String>> idsByToken(List<Release> releases, boolean suspects) {
        return releases.stream()
                .filter(release -> !release.token().isEmpty() && release.suspect() == suspects)
                .collect(Collectors.groupingBy(
                        Release::token, Collectors.mapping(Release::eventId, Collectors.toList())));
    }
}
