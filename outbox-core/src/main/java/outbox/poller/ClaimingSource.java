package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.internal.ClaimInHand;
import outbox.internal.ClaimTokens;
import outbox.internal.Expiry;
import outbox.internal.StoreAccess;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;
import outbox.spi.ControlledEventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;
import outbox.spi.OrderedEventStore;
import outbox.spi.Withheld;
import outbox.spi.WithholdingEventStore;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/** Claims events under a fresh token each time. */
final class ClaimingSource implements EventSource {

    private static final int MAX_EXPIRED = 100; // of each reason
    private static final Duration EXPIRY_INTERVAL = Duration.ofSeconds(5);

    private final StoreAccess access;
    private final LeasingEventStore store;
    private final Duration skipRecent;
    private final Duration lockTimeout;
    private final ClaimTokens tokens;
    private final OutboxPollerHandler handler;
    private final Ordering ordering; // of the handler; it never changes
    private boolean mayRepeat; // the handler gives back what the store cannot withhold; guarded by the poller's lock
    private long nextExpiryNanos = System.nanoTime(); // guarded by the poller's lock

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
    }

    @Override
    public Batch next(int limit) {
        Withheld withheld = handler.withheld();
        mayRepeat = !withheld.isNothing() && !(store instanceof WithholdingEventStore);
        return access.inTransaction("claim events", connection -> {
            Instant now = access.now(connection);
            Claim claim = tokens.next(lockTimeout);
            Instant expiry = access.expiry(connection, lockTimeout);
            boolean late = System.nanoTime() - nextExpiryNanos >= 0;
            List<String> expired = late ? expire(connection, expiry) : List.of();
            List<String> untaken = late ? endUntaken(connection, now, expiry, withheld) : List.of();
            if (late && expired.size() < MAX_EXPIRED && untaken.size() < MAX_EXPIRED) { // else there may be more
                nextExpiryNanos = System.nanoTime() + EXPIRY_INTERVAL.toNanos();
            }
            List<Found> found = claim(connection, claim, now, expiry, limit, withheld).stream()
                    .map(event -> new Found(event.event(), event.claim(), event.suspect()))
                    .toList();
            Duration untilNext = found.size() < limit ? untilNext(connection, now) : null;
            return new Batch(found, now, Found.untilDue(access, connection, found), untilNext, expired, untaken);
        });
    }

    /** Those that are due find their end when they are about to start; this is for those that are not, or that nobody takes. */
    private List<String> expire(Connection connection, Instant expiry) {
        if (!(store instanceof ControlledEventStore controlled)) {
            return List.of();
        }
        Instant surely = access.expiry(connection, Duration.ZERO); // a deadline before it has passed
        return controlled.expire(connection, surely, expiry, Expiry.REASON, MAX_EXPIRED);
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
        if (!withheld.isNothing() && store instanceof WithholdingEventStore withholding) {
            return withholding.claimExcept(connection, claim, now, expiry, skipRecent, limit, ordering, withheld);
        }
        return ordering.isOn() && store instanceof OrderedEventStore numbering
                ? numbering.claimInOrder(connection, claim, now, expiry, skipRecent, limit, ordering)
                : store.claim(connection, claim, now, expiry, skipRecent, limit);
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
        String token = tokenOf(events.get(0)); // a batch is one claim
        List<String> ids = ids(events, false);
        List<String> suspects = ids(events, true);
        access.inTransaction("give back " + events.size() + " events", connection -> {
            int released = ids.isEmpty() ? 0 : store.release(connection, token, ids);
            return released + (suspects.isEmpty() ? 0 : store.releaseSuspects(connection, token, suspects));
        });
    }

    private static List<String> ids(List<Found> events, boolean suspects) {
        return events.stream()
                .filter(event -> event.suspect() == suspects)
                .map(event -> event.row().eventId())
                .toList();
    }

    @Override
    public void markDead(Found event, String error) {
        Mark mark = Mark.dead(event.row().eventId(), tokenOf(event), false, error);
        access.inTransaction(
                "mark event " + mark.eventId() + " dead",
                connection -> store.mark(connection, List.of(mark), access.now(connection)));
    }

    private static String tokenOf(Found event) {
        return Objects.requireNonNull(event.claim()).token();
    }
}
