package outbox.spring.boot;

import org.jspecify.annotations.Nullable;
import outbox.admin.Backlog;
import outbox.admin.BlockedAggregate;
import outbox.admin.Pause;
import outbox.admin.PauseScope;
import outbox.dispatch.CircuitBreaker;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.ProtectionStatus;
import outbox.poller.OutboxPoller;
import outbox.poller.PollerStatus;
import outbox.relay.RelayStatus;
import outbox.spi.Leadership;
import outbox.spi.OrderedEventStore;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Finds out how one outbox is: what its table tells, read in bounded time, and what the relay in this process tells of itself. The first of these that holds is its state:
 *
 * <pre>
 *  database unreachable · stopped · no leader · stuck · paused · lagging · up
 * </pre>
 */
final class OutboxCheck {

    /** How an outbox is. */
    record Result(String status, Map<String, Object> details) {}

    /** A state, and the words for it. */
    private record Finding(
            String status, String state, @Nullable String reason) {}

    /** What the table tells; blocked: whether events wait behind a dead one, so that the longest overdue may be one of them. */
    private record Seen(Backlog backlog, boolean blocked) {}

    private final OutboxInstance outbox;
    private final OutboxHealthProperties properties;
    private final TimedReading<Seen> table;

    OutboxCheck(OutboxInstance outbox, OutboxHealthProperties properties) {
        this.outbox = outbox;
        this.properties = properties;
        this.table = new TimedReading<>(outbox.name() + "-health", this::read, properties.keep(), properties.timeout());
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
        if (!outbox.blocksBehindDead() || !(outbox.store() instanceof OrderedEventStore)) {
            return false;
        }
        try {
            return outbox.admin().blockedAggregates(1).stream()
                    .mapToLong(BlockedAggregate::waiting)
                    .anyMatch(waiting -> waiting > 0);
        } catch (RuntimeException e) { // its table has no order
            return false;
        }
    }

    Result look() {
        TimedReading.Answer<Seen> answer = table.get();
        Seen seen = answer.value();
        Finding finding = seen == null
                ? new Finding(OutboxHealth.DOWN, "database unreachable", answer.failure())
                : relayFinding(seen);
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("state", finding.state());
        put(details, "reason", finding.reason());
        details.put("table", outbox.table());
        if (seen != null) {
            details.putAll(RelayView.backlog(seen.backlog()));
        }
        details.putAll(RelayView.of(outbox));
        return new Result(finding.status(), details);
    }

    private static void put(Map<String, Object> details, String key, @Nullable Object value) {
        if (value != null) {
            details.put(key, value);
        }
    }

    /** A process that only writes is well as long as it reaches the table. */
    private Finding relayFinding(Seen seen) {
        OutboxDispatcher dispatcher = outbox.dispatcher();
        OutboxPoller poller = outbox.poller();
        if (dispatcher == null || poller == null) {
            return new Finding(OutboxHealth.UP, "up", null);
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
                ? new Finding(OutboxHealth.DOWN, "stuck", fault)
                : new Finding(OutboxHealth.OUT_OF_SERVICE, "stopped", fault);
    }

    private static Duration longestPause(PollerStatus poller) {
        return poller.interval().plus(poller.interval().dividedBy(5));
    }

    private static @Nullable Finding leaderless(PollerStatus poller, @Nullable Leadership leadership) {
        boolean leaderless = poller.running() && leadership != null && !leadership.isLed();
        return leaderless ? new Finding(OutboxHealth.DOWN, "no leader", "No node is known to lead") : null;
    }

    /** While a part is paused or blocked, its events are late on purpose: told, but no reason to take the node out, since nobody can say that others are late too. */
    private Finding delayed(ProtectionStatus protection, Seen seen) {
        List<Pause> pauses = protection.pauses();
        for (Pause pause : pauses) {
            if (pause.scope() == PauseScope.OUTBOX) {
                return new Finding(properties.pausedStatus(), "paused", "By " + pause.by() + " since " + pause.since());
            }
        }
        Duration overdue = seen.backlog().longestOverdue();
        if (overdue == null || !isLate(seen.backlog())) {
            return new Finding(OutboxHealth.UP, "up", null);
        }
        boolean open =
                protection.breakers().stream().anyMatch(breaker -> breaker.state() != CircuitBreaker.State.CLOSED);
        String reason =
                "An event is overdue for " + overdue.toSeconds() + " s" + (open ? "; a circuit breaker is open" : "");
        if (pauses.isEmpty() && !seen.blocked()) {
            return new Finding(properties.laggingStatus(), "lagging", reason);
        }
        String part = pauses.isEmpty() ? "; an aggregate is blocked" : "; a part is paused";
        return new Finding(OutboxHealth.UP, "lagging", reason + part);
    }
}
