package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;
import outbox.internal.ClaimInHand;
import outbox.internal.ClaimTokens;
import outbox.internal.Expiry;
import outbox.internal.RowRules;
import outbox.internal.SqlErrors;
import outbox.internal.StoreAccess;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;
import outbox.spi.ControlledEventStore;
import outbox.spi.ErrorText;
import outbox.spi.LeasingEventStore;
import outbox.spi.LoadingEventStore;
import outbox.spi.LoadingEventStore.Content;
import outbox.spi.Mark;
import outbox.spi.OrderedEventStore;
import outbox.spi.RowLockingEventStore;
import outbox.spi.SafeLogger;
import outbox.spi.Withheld;
import outbox.spi.WithholdingEventStore;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/** Claims events under a fresh token each time. */
final class ClaimingSource implements EventSource {

    private static final int MAX_EXPIRED = 100; // of each reason
    private static final int MAX_ONE_BY_ONE = 16; // events whose content is in memory together
    private static final Instant NO_LEASE_HAS_ENDED = Instant.EPOCH; // earlier than any lease, of released suspects too
    private static final Duration EXPIRY_INTERVAL = Duration.ofSeconds(5);
    private static final Duration SETTLING = Duration.ofSeconds(5); // of a new leader
    private static final Duration LOCK_PAUSE = Duration.ofMillis(20);
    private static final Logger LOG = SafeLogger.of(ClaimingSource.class);

    private final StoreAccess access;
    private final LeasingEventStore store;
    private final Duration skipRecent;
    private final Duration lockTimeout;
    private final ClaimTokens tokens;
    private final OutboxPollerHandler handler;
    private final Ordering ordering; // of the handler; it never changes
    private final @Nullable ContentLoader loader; // null for a store that reads all it claims
    private List<Found> claimed = List.of(); // by the last look; guarded by the poller's lock
    private List<ClaimedEvent> unread = List.of(); // of the last look one by one; guarded by the poller's lock
    private boolean mayRepeat; // the handler gives back what the store cannot withhold; guarded by the poller's lock
    private long nextExpiryNanos = System.nanoTime(); // guarded by the poller's lock
    private @Nullable Long
            leadsNanos; // since when this node leads; null without a leader; guarded by the poller's lock
    private boolean locked; // a new leader waits for rows that others have locked; guarded by the poller's lock
    private @Nullable Instant leadsSince; // the same by the database's clock; guarded by the poller's lock

    ClaimingSource(
            StoreAccess access,
            LeasingEventStore store,
            Duration skipRecent,
            Duration lockTimeout,
            @Nullable String ownerId,
            OutboxPollerHandler handler) {
        this.access = access;
        this.store = store;
        this.skipRecent = skipRecent;
        this.lockTimeout = lockTimeout;
        this.tokens = new ClaimTokens(ownerId);
        this.handler = handler;
        this.ordering = handler.ordering();
        this.loader = store instanceof LoadingEventStore loading
                ? new ContentLoader(access, loading, handler::byteRoom)
                : null;
    }

    @Override
    public Batch next(int limit, boolean suspects) {
        Withheld withheld = handler.withheld();
        mayRepeat = !withheld.isNothing() && !(store instanceof WithholdingEventStore);
        claimed = List.of();
        try {
            return look(limit, suspects, withheld);
        } catch (RuntimeException | Error e) {
            releaseClaimed(e);
            if (loader != null && SqlErrors.isUnreadable(e)) {
                return lookOneByOne(loader, Math.min(limit, MAX_ONE_BY_ONE), suspects, withheld, e);
            }
            throw e;
        }
    }

    private Batch look(int limit, boolean suspects, Withheld withheld) {
        return access.inTransaction("claim events", connection -> {
            Instant expiry = expiry(connection); // first: what is claimed now must not look older than that
            Instant now = access.now(connection);
            if (isLocked(connection, now, expiry, limit)) {
                return new Batch(List.of(), now, Duration.ZERO, LOCK_PAUSE, List.of(), List.of());
            }
            Claim claim = tokens.next(lockTimeout);
            boolean late = System.nanoTime() - nextExpiryNanos >= 0;
            List<String> expired = late ? expire(connection, expiry) : List.of();
            List<String> untaken = late ? endUntaken(connection, now, expiry, withheld) : List.of();
            List<String> unreachable = late ? endUnreachable(connection, now, expiry) : List.of();
            if (late
                    && expired.size() < MAX_EXPIRED
                    && untaken.size() < MAX_EXPIRED
                    && unreachable.size() < MAX_EXPIRED) { // else there may be more
                nextExpiryNanos = System.nanoTime() + EXPIRY_INTERVAL.toNanos();
            }
            Instant lockExpiry = suspects ? expiry : NO_LEASE_HAS_ENDED;
            List<ClaimedEvent> taken = claim(connection, claim, now, lockExpiry, limit, withheld);
            claimed = found(taken);
            List<Found> found = loader == null ? claimed : loader.complete(connection, taken);
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
     * The last claim failed, perhaps because of a row that cannot be read. Claims a few events without reading them, and
     * finds out which of them that is.
     */
    private Batch lookOneByOne(ContentLoader loader, int limit, boolean suspects, Withheld withheld, Throwable why) {
        try {
            Batch batch = access.inTransaction("claim events without reading them", connection -> {
                Instant expiry = expiry(connection);
                Instant now = access.now(connection);
                Instant lockExpiry = suspects ? expiry : NO_LEASE_HAS_ENDED;
                Claim claim = tokens.next(lockTimeout);
                unread = claimUnread(connection, claim, now, lockExpiry, limit, withheld, Content.IDS);
                claimed = found(unread);
                return new Batch(claimed, now);
            });
            if (unread.isEmpty()) { // it was not because of a row
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
     * Releases the events of a claim that failed behind its statement. The rollback has done so already, unless claims
     * are kept in memory, or the commit failed on its way.
     */
    private void releaseClaimed(Throwable cause) {
        List<Found> events = claimed;
        claimed = List.of();
        try {
            if (!events.isEmpty()) {
                giveBack(events);
            }
        } catch (RuntimeException e) {
            cause.addSuppressed(e); // their lease has to run out
        }
    }

    /**
     * Leases that began before this have ended. A leader need not wait for those of the leader before it: only one of
     * them delivers, and marks name their claim. Its own leases all began after it became the leader. Should the
     * database's clock go back, that moment is counted back from now, so that this stays true.
     */
    private Instant expiry(Connection connection) {
        Instant byTime = access.expiry(connection, lockTimeout);
        if (leadsNanos == null) {
            return byTime;
        }
        Instant start = access.expiry(connection, Duration.ofNanos(System.nanoTime() - leadsNanos));
        leadsSince = leadsSince == null || start.isBefore(leadsSince) ? start : leadsSince;
        return leadsSince.isBefore(byTime) ? byTime : leadsSince;
    }

    /**
     * Whether a new leader has to wait for rows that others have locked. The leader before it may be releasing what
     * it had claimed: a claim would pass over that and deliver later events first. Bounded, because a lock may stay
     * for any other reason. Delivery in order needs no such care: nothing is claimed there while its predecessor is
     * unfinished, locked or not.
     */
    private boolean isLocked(Connection connection, Instant now, Instant expiry, int limit) {
        if (leadsNanos == null || ordering.isOn() || !(store instanceof RowLockingEventStore locking)) {
            return false;
        }
        if (System.nanoTime() - leadsNanos < SETTLING.toNanos()) {
            locked = !locking.lockDue(connection, now, expiry, skipRecent, limit);
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

    /** Those that are due find their end when they are about to start; this is for those that are not, or that nobody takes. */
    private List<String> expire(Connection connection, Instant expiry) {
        if (!(store instanceof ControlledEventStore controlled)) {
            return List.of();
        }
        Instant surely = access.earliest(connection); // a deadline before it has passed
        return controlled.expire(connection, surely, expiry, Expiry.REASON, MAX_EXPIRED);
    }

    private List<String> endUnreachable(Connection connection, Instant now, Instant expiry) {
        return store instanceof LoadingEventStore loading
                ? loading.endUnreachable(connection, now, expiry, RowRules.NEVER_DUE, MAX_EXPIRED)
                : List.of();
    }

    /** Ends what this node does not know and nobody took in time. What was attempted is known to somebody, and what is paused is not late. */
    private List<String> endUntaken(Connection connection, Instant now, Instant expiry, Withheld withheld) {
        Duration limit = handler.untakenLimit();
        Set<String> known = withheld.known();
        if (limit == null || known == null || !(store instanceof WithholdingEventStore withholding)) {
            return List.of();
        }
        return withholding.endUntaken(
                connection,
                now,
                access.expiry(connection, limit),
                expiry,
                MAX_EXPIRED,
                ordering,
                new Withheld(withheld.types(), known, withheld.tenants()),
                "No node took this event within " + limit
                        + " of its due time: none has a listener for it. Register one, then replay the event.");
    }

    private @Nullable Duration untilNext(Connection connection, Instant now) {
        return store instanceof ControlledEventStore controlled
                ? controlled
                        .nextDue(connection, now)
                        .map(due -> access.until(connection, due))
                        .orElse(null)
                : null;
    }

    private List<ClaimedEvent> claim(
            Connection connection, Claim claim, Instant now, Instant expiry, int limit, Withheld withheld) {
        if (store instanceof LoadingEventStore) {
            return claimUnread(connection, claim, now, expiry, limit, withheld, Content.SMALL);
        }
        if (!withheld.isNothing() && store instanceof WithholdingEventStore withholding) {
            return withholding.claimExcept(connection, claim, now, expiry, skipRecent, limit, ordering, withheld);
        }
        return ordering.isOn() && store instanceof OrderedEventStore numbering
                ? numbering.claimInOrder(connection, claim, now, expiry, skipRecent, limit, ordering)
                : store.claim(connection, claim, now, expiry, skipRecent, limit);
    }

    private List<ClaimedEvent> claimUnread(
            Connection connection,
            Claim claim,
            Instant now,
            Instant expiry,
            int limit,
            Withheld withheld,
            Content content) {
        return ((LoadingEventStore) store)
                .claimUnread(connection, claim, now, expiry, skipRecent, limit, ordering, withheld, content);
    }

    @Override
    public ClaimInHand inHand(Found event) {
        return new ClaimInHand(
                event.row().eventId(), Objects.requireNonNull(event.claim()), event.suspect(), lockTimeout);
    }

    @Override
    public boolean takes() {
        return !mayRepeat;
    }

    @Override
    public void giveBack(List<Found> events) {
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
     * An event whose row is locked by another transaction is passed over, if that is wanted: its lease has to run out.
     */
    private void release(List<Found> events, boolean passLocked) {
        String token = tokenOf(events.get(0)); // a batch is one claim
        List<String> ids = ids(events, false);
        List<String> suspects = ids(events, true);
        access.inTransaction("give back " + events.size() + " events", connection -> {
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
