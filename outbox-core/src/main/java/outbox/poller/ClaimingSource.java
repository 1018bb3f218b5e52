package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;
import outbox.internal.ClaimTokens;
import outbox.internal.Expiry;
import outbox.internal.RowRules;
import outbox.internal.SqlErrors;
import outbox.internal.StoreAccess;
import outbox.internal.text.SafeLogger;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimRequest.Content;
import outbox.spi.ClaimRequest.Withheld;
import outbox.spi.ClaimedEvent;
import outbox.spi.ErrorText;
import outbox.spi.EventControl;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/** Claims events. Every claim has a new token. The poller's lock guards all fields that are not final. */
final class ClaimingSource implements EventSource {

    private static final int MAX_EXPIRED = 100; // limit per cycle and per reason
    private static final int MAX_ONE_BY_ONE = 16; // limit for events whose content is in memory at the same time
    // before the start of every lease, including that of a released suspect
    private static final Instant NO_LEASE_HAS_ENDED = Instant.EPOCH;
    private static final Duration EXPIRY_INTERVAL = Duration.ofSeconds(5);
    private static final Duration SETTLING = Duration.ofSeconds(5); // how long a new leader waits for locked rows
    private static final Duration LOCK_PAUSE = Duration.ofMillis(20);
    private static final Logger LOG = SafeLogger.of(ClaimingSource.class);

    private final StoreAccess access;
    private final LeasingEventStore store;
    private final @Nullable EventControl control; // null if events of the store are due at once, without a deadline
    private final Duration skipRecent;
    private final Duration lockTimeout;
    private final ClaimTokens tokens;
    private final KnownNeeds needs;
    private final ContentLoader loader;
    private List<Found> claimed = List.of(); // events of the last claim; guarded by the poller's lock
    // events of the last claim without content; guarded by the poller's lock
    private List<ClaimedEvent> unread = List.of();
    // the handler may release events that the store cannot withhold; guarded by the poller's lock
    private boolean mayRepeat;
    private long nextExpiryNanos = System.nanoTime(); // guarded by the poller's lock
    // when this node became the leader; null without leader election; guarded by the poller's lock
    private @Nullable Long leadsNanos;
    // whether a new leader waits for rows that others have locked; guarded by the poller's lock
    private boolean locked;
    private @Nullable Instant leadsSince; // leadsNanos by the database's clock; guarded by the poller's lock

    ClaimingSource(
            StoreAccess access,
            EventStore store,
            Duration skipRecent,
            Duration lockTimeout,
            @Nullable String ownerId,
            KnownNeeds needs) {
        this.access = access;
        this.store = store.capability(LeasingEventStore.class).orElseThrow();
        this.control = store.capability(EventControl.class).orElse(null);
        this.skipRecent = skipRecent;
        this.lockTimeout = lockTimeout;
        this.tokens = new ClaimTokens(ownerId);
        this.needs = needs;
        this.loader = new ContentLoader(access, this.store, () -> needs.get().byteRoom());
    }

    @Override
    public Batch next(int limit, boolean suspects) {
        Withheld withheld = needs.get().withheld();
        mayRepeat = !withheld.isNothing() && !store.canWithhold();
        claimed = List.of();
        try {
            return look(limit, suspects, withheld);
        } catch (RuntimeException | Error e) {
            releaseClaimed(e);
            if (SqlErrors.isUnreadable(e)) {
                return lookOneByOne(Math.min(limit, MAX_ONE_BY_ONE), suspects, withheld, e);
            }
            throw e;
        }
    }

    private Batch look(int limit, boolean suspects, Withheld withheld) {
        return access.inTransaction("claim events", connection -> {
            Instant expiry = expiry(connection); // read before the claim, so that a new lease never looks expired
            Instant now = access.now(connection);
            if (isLocked(connection, ClaimRequest.of(now, expiry, limit).skippingRecent(skipRecent))) {
                return new Batch(List.of(), now, Duration.ZERO, LOCK_PAUSE, List.of(), List.of());
            }
            Claim claim = tokens.next(lockTimeout);
            boolean late = System.nanoTime() - nextExpiryNanos >= 0;
            List<String> expired = late ? expire(connection, expiry) : List.of();
            List<String> untaken = late ? endUntaken(connection, now, expiry, withheld) : List.of();
            List<String> unreachable =
                    late ? store.endUnreachable(connection, now, expiry, RowRules.NEVER_DUE, MAX_EXPIRED) : List.of();
            if (late
                    && expired.size() < MAX_EXPIRED
                    && untaken.size() < MAX_EXPIRED
                    && unreachable.size() < MAX_EXPIRED) { // otherwise there may be more
                nextExpiryNanos = System.nanoTime() + EXPIRY_INTERVAL.toNanos();
            }
            Instant lockExpiry = suspects ? expiry : NO_LEASE_HAS_ENDED;
            List<ClaimedEvent> taken =
                    store.claim(connection, claim, request(now, lockExpiry, limit, withheld, Content.SMALL));
            claimed = found(taken);
            List<Found> found = loader.complete(connection, taken);
            Duration untilNext = taken.size() < limit ? untilNext(connection, now) : null;
            return new Batch(
                    found,
                    now,
                    Found.untilDue(access, connection, found),
                    untilNext,
                    expired,
                    untaken,
                    unreachable,
                    found.size() < taken.size());
        });
    }

    private static List<Found> found(List<ClaimedEvent> events) {
        return events.stream()
                .map(event -> new Found(event.event(), event.claim(), event.suspect()))
                .toList();
    }

    /**
     * Claims a few events without reading them, and then finds the row that cannot be read. Called after a claim
     * failed, perhaps because of such a row.
     */
    private Batch lookOneByOne(int limit, boolean suspects, Withheld withheld, Throwable why) {
        try {
            Batch batch = access.inTransaction("claim events without reading them", connection -> {
                Instant expiry = expiry(connection);
                Instant now = access.now(connection);
                Instant lockExpiry = suspects ? expiry : NO_LEASE_HAS_ENDED;
                Claim claim = tokens.next(lockTimeout);
                unread = store.claim(connection, claim, request(now, lockExpiry, limit, withheld, Content.IDS));
                claimed = found(unread);
                return new Batch(claimed, now);
            });
            if (unread.isEmpty()) { // the failure was not caused by a row
                throw new OutboxException("Cannot claim events: " + ErrorText.of(why), why);
            }
            List<Found> found = loader.oneByOne(unread);
            return new Batch(
                    found,
                    batch.now(),
                    Duration.ZERO,
                    null,
                    List.of(),
                    List.of(),
                    List.of(),
                    !found.isEmpty() && unread.size() == limit);
        } catch (RuntimeException | Error e) {
            releaseClaimed(e);
            if (e.getCause() != why) {
                e.addSuppressed(why);
            }
            throw e;
        }
    }

    /**
     * Releases the events of a claim if a later step failed. The rollback has usually released them already. It has
     * not if the store keeps claims in memory, or if the result of the commit is unknown.
     */
    private void releaseClaimed(Throwable cause) {
        List<Found> events = claimed;
        claimed = List.of();
        try {
            if (!events.isEmpty()) {
                release(events);
            }
        } catch (RuntimeException e) {
            cause.addSuppressed(e); // the events stay claimed until their lease expires
        }
    }

    /**
     * Returns a limit: a lease that began before this time has expired. A new leader does not wait for the leases of
     * its predecessor: only one of the two delivers, and every mark contains its claim token. All leases of this
     * node as leader began after it became the leader. If the database's clock is set back, the start of the
     * leadership is computed again from now, so that this stays true.
     */
    private Instant expiry(Connection connection) {
        Instant byTime = access.expiry(connection, lockTimeout);
        if (leadsNanos == null) {
            return byTime;
        }
        long asked = System.nanoTime();
        Instant start = access.expiry(connection, Duration.ofNanos(asked - leadsNanos))
                .minusNanos(System.nanoTime() - asked); // the clock may have been read at the end of the call
        leadsSince = leadsSince == null || start.isBefore(leadsSince) ? start : leadsSince;
        return leadsSince.isBefore(byTime) ? byTime : leadsSince;
    }

    /**
     * Returns whether a new leader must wait for rows that others have locked. The previous leader may be releasing
     * its claimed events. A claim would skip these rows and deliver later events first. The wait is bounded, because
     * a row may stay locked for another reason. Ordered delivery does not need the wait: it claims no event whose
     * predecessor is unfinished, locked or not.
     */
    private boolean isLocked(Connection connection, ClaimRequest request) {
        if (leadsNanos == null || ordering().isOn()) {
            return false;
        }
        if (System.nanoTime() - leadsNanos < SETTLING.toNanos()) {
            locked = !store.lockDue(connection, request);
        } else if (locked) {
            locked = false;
            LOG.log(
                    Level.WARNING,
                    "Another transaction keeps due events locked since this node became the leader " + SETTLING
                            + " ago; it goes on without them, so they may come after later ones");
        }
        return locked;
    }

    @Override
    public void leads(long sinceNanos) {
        leadsNanos = sinceNanos;
        leadsSince = null;
        locked = false;
    }

    /**
     * Ends events whose deadline has passed, if they are not due yet or if no node claims them. The deadline of a
     * claimed event is checked before its delivery starts.
     */
    private List<String> expire(Connection connection, Instant expiry) {
        if (control == null) {
            return List.of();
        }
        Instant surely = access.earliest(connection); // every deadline before this time has certainly passed
        return control.expire(connection, surely, expiry, Expiry.REASON, MAX_EXPIRED);
    }

    /**
     * Ends due events of types that this node does not know, if no node claimed them within the limit. Skips events
     * with attempts, because some node knows their type, and paused events, because they are not late.
     */
    private List<String> endUntaken(Connection connection, Instant now, Instant expiry, Withheld withheld) {
        Duration limit = needs.get().untakenLimit();
        Set<String> known = withheld.known();
        if (limit == null || known == null || !store.canWithhold()) {
            return List.of();
        }
        ClaimRequest overdue = ClaimRequest.of(access.expiry(connection, limit), expiry, MAX_EXPIRED)
                .inOrder(ordering())
                .except(new Withheld(withheld.types(), known, withheld.tenants()));
        return store.endUntaken(
                connection,
                overdue,
                now,
                "No node took this event within " + limit
                        + " of its due time: none has a listener for it. Register one, then replay the event.");
    }

    private @Nullable Duration untilNext(Connection connection, Instant now) {
        return control == null
                ? null
                : control.nextDue(connection, now)
                        .map(due -> access.until(connection, due))
                        .orElse(null);
    }

    private ClaimRequest request(Instant now, Instant expiry, int limit, Withheld withheld, Content content) {
        return new ClaimRequest(now, expiry, skipRecent, limit, ordering(), withheld, content);
    }

    private Ordering ordering() {
        return needs.get().ordering();
    }

    @Override
    public boolean takes() {
        return !mayRepeat;
    }

    @Override
    public void release(List<Found> events) {
        try {
            release(events, false);
        } catch (RuntimeException e) {
            if (!SqlErrors.isLocked(e)) {
                throw e;
            }
            release(events, true);
        }
    }

    /**
     * Releases the events. If {@code passLocked} is true, skips events whose rows another transaction has locked:
     * they stay claimed until their lease expires.
     */
    private void release(List<Found> events, boolean passLocked) {
        String token = tokenOf(events.get(0)); // all events of a batch have the same claim
        List<String> ids = ids(events, false);
        List<String> suspects = ids(events, true);
        access.inTransaction("release " + events.size() + " events", connection -> {
            Set<String> locked = passLocked
                    ? store.lockFree(
                            connection,
                            events.stream().map(event -> event.row().eventId()).toList())
                    : Set.of();
            List<String> free = ids.stream().filter(id -> !locked.contains(id)).toList();
            List<String> freeSuspects =
                    suspects.stream().filter(id -> !locked.contains(id)).toList();
            int released = free.isEmpty() ? 0 : store.release(connection, token, free);
            return released + (freeSuspects.isEmpty() ? 0 : store.releaseSuspects(connection, token, freeSuspects));
        });
    }

    private static List<String> ids(List<Found> events, boolean suspects) {
        return events.stream()
                .filter(event -> event.suspect() == suspects)
                .map(event -> event.row().eventId())
                .toList();
    }

    @Override
    public boolean markDead(Found event, String error) {
        Mark mark = Mark.dead(event.row().eventId(), tokenOf(event), false, error);
        return access.inTransaction(
                "mark event " + mark.eventId() + " dead",
                connection -> !store.mark(connection, List.of(mark), access.now(connection))
                        .isEmpty());
    }

    private static String tokenOf(Found event) {
        return Objects.requireNonNull(event.claim()).token();
    }
}
