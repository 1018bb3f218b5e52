package outbox.spring.boot.actuate;

import org.jspecify.annotations.Nullable;
import outbox.admin.Backlog;
import outbox.admin.Pause;
import outbox.dispatch.CircuitBreaker;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.poller.OutboxPoller;
import outbox.relay.RelayStatus;
import outbox.spi.EventOrder;
import outbox.spi.EventOrder.BlockedAggregate;
import outbox.spi.Leadership;
import outbox.spring.boot.OutboxInstance;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Determines the state of one outbox from its table, which is read with a time limit, and from the relay in this
 * process. The first matching state is reported:
 *
 * <pre>
 *  database unreachable · stopped · no leader · stuck · paused · lagging · up
 * </pre>
 */
final class OutboxCheck {

    /** The status and details of an outbox. */
    record Result(String status, Map<String, Object> details) {}

    /** A state and its description. */
    private record Finding(
            String status, String state, @Nullable String reason) {}

    /**
     * The data read from the table.
     *
     * @param blocked whether events wait behind a dead event; the longest overdue event may then be one of them
     */
    private record Seen(Backlog backlog, boolean blocked) {}

    private static final Duration COUNT_DEAD_EVERY = Duration.ofMinutes(1); // the count may read the whole table

    private final OutboxInstance outbox;
    private final OutboxHealthProperties properties;
    private final TimedReading<Seen> table;
    private final TimedReading<Long> dead;

    OutboxCheck(OutboxInstance outbox, OutboxHealthProperties properties) {
        this.outbox = outbox;
        this.properties = properties;
        this.table = new TimedReading<>(outbox.name() + "-health", this::read, properties.keep(), properties.timeout());
        this.dead = new TimedReading<>(
                outbox.name() + "-dead",
                () -> outbox.admin().deadEvents(),
                keepDead(properties.keep()),
                properties.timeout());
    }

    private static Duration keepDead(Duration keep) {
        return keep.isZero() || keep.compareTo(COUNT_DEAD_EVERY) > 0 ? keep : COUNT_DEAD_EVERY;
    }

    String outbox() {
        return outbox.name();
    }

    private Seen read() {
        Backlog backlog = outbox.admin().backlog();
        return new Seen(backlog, isLate(backlog) && isBlocked());
    }

    private boolean isLate(Backlog backlog) {
        Duration overdue = backlog.longestOverdue();
        return overdue != null && overdue.compareTo(properties.maxLag()) > 0;
    }

    private boolean isBlocked() {
        if (!outbox.blocksBehindDead()
                || outbox.store().capability(EventOrder.class).isEmpty()) {
            return false;
        }
        try {
            return outbox.admin().blockedAggregates(1).stream()
                    .mapToLong(BlockedAggregate::waiting)
                    .anyMatch(waiting -> waiting > 0);
        } catch (RuntimeException e) { // the table does not support ordering
            return false;
        }
    }

    Result look() {
        TimedReading.Answer<Seen> answer = table.get();
        Seen seen = answer.value();
        Finding finding = seen == null
                ? new Finding(CheckedHealth.DOWN, "database unreachable", answer.failure())
                : relayFinding(seen);
        View details = new View()
                .with("state", finding.state())
                .with("reason", finding.reason())
                .with("table", outbox.table());
        if (seen != null) {
            details.putAll(RelayView.backlog(seen.backlog()));
            details.with("dead", dead.last());
        }
        details.putAll(RelayView.of(outbox));
        return new Result(finding.status(), details);
    }

    /** A process that only writes is healthy as long as it can reach the table. */
    private Finding relayFinding(Seen seen) {
        OutboxDispatcher dispatcher = outbox.dispatcher();
        OutboxPoller poller = outbox.poller();
        if (dispatcher == null || poller == null) {
            return new Finding(CheckedHealth.UP, "up", null);
        }
        RelayStatus relay = RelayStatus.of(poller, dispatcher, outbox.leadership());
        Finding finding = leaderless(relay.poller(), outbox.leadership());
        if (finding == null) {
            finding = stopped(relay);
        }
        return finding != null ? finding : delayed(relay.protection(), seen);
    }

    private @Nullable Finding stopped(RelayStatus relay) {
        String fault = relay.fault(longestPause(relay.poller()).plus(properties.stuckAfter()));
        if (fault == null) {
            return null;
        }
        return relay.poller().running()
                ? new Finding(CheckedHealth.DOWN, "stuck", fault)
                : new Finding(CheckedHealth.OUT_OF_SERVICE, "stopped", fault);
    }

    private static Duration longestPause(OutboxPoller.Status poller) {
        return poller.interval().plus(poller.interval().dividedBy(5));
    }

    private static @Nullable Finding leaderless(OutboxPoller.Status poller, @Nullable Leadership leadership) {
        boolean leaderless = poller.running() && leadership != null && !leadership.isLed();
        return leaderless ? new Finding(CheckedHealth.DOWN, "no leader", "No node is known to lead") : null;
    }

    /**
     * While a part is paused or blocked, its events are late on purpose, and nothing shows whether other events are
     * late too. The delay is reported, but the node stays in service.
     */
    private Finding delayed(Protection.Status protection, Seen seen) {
        List<Pause> pauses = protection.pauses();
        for (Pause pause : pauses) {
            if (pause.scope() == Pause.Scope.OUTBOX) {
                return new Finding(properties.pausedStatus(), "paused", "By " + pause.by() + " since " + pause.since());
            }
        }
        Duration overdue = seen.backlog().longestOverdue();
        if (overdue == null || !isLate(seen.backlog())) {
            return new Finding(CheckedHealth.UP, "up", null);
        }
        boolean open =
                protection.breakers().stream().anyMatch(breaker -> breaker.state() != CircuitBreaker.State.CLOSED);
        String reason =
                "An event is overdue for " + overdue.toSeconds() + " s" + (open ? "; a circuit breaker is open" : "");
        if (pauses.isEmpty() && !seen.blocked()) {
            return new Finding(properties.laggingStatus(), "lagging", reason);
        }
        String part = pauses.isEmpty() ? "; an aggregate is blocked" : "; a part is paused";
        return new Finding(CheckedHealth.UP, "lagging", reason + part);
    }
}
