package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.internal.ClaimInHand;
import outbox.internal.ClaimTokens;
import outbox.internal.StoreAccess;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;
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

/** Claims events under a fresh token each time. */
final class ClaimingSource implements EventSource {

    private final StoreAccess access;
    private final LeasingEventStore store;
    private final Duration skipRecent;
    private final Duration lockTimeout;
    private final ClaimTokens tokens;
    private final OutboxPollerHandler handler;
    private final Ordering ordering; // of the handler; it never changes
    private boolean mayRepeat; // the handler gives back what the store cannot withhold; guarded by the poller's lock

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
            List<ClaimedEvent> claimed =
                    claim(connection, claim, now, access.expiry(connection, lockTimeout), limit, withheld);
            return new Batch(
                    claimed.stream()
                            .map(event -> new Found(event.event(), event.claim(), event.suspect()))
                            .toList(),
                    now);
        });
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
        List<String> ids = events.stream().map(event -> event.row().eventId()).toList();
        access.inTransaction(
                "give back " + ids.size() + " events", connection -> store.release(connection, token, ids));
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
