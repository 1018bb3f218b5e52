package outbox.spring.boot.actuate;

import org.jspecify.annotations.Nullable;
import outbox.admin.Backlog;
import outbox.admin.Pause;
import outbox.dispatch.DispatcherStatus;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.ProtectionStatus;
import outbox.poller.OutboxPoller;
import outbox.poller.PollerStatus;
import outbox.spi.Leadership;
import outbox.spring.boot.OutboxInstance;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Converts the state of an outbox to maps of simple values, for health and endpoint. Maps need no reflection, and
 * every JSON library writes them in the same way.
 */
final class RelayView {

    private RelayView() {}

    static Map<String, Object> backlog(Backlog backlog) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("pending", backlog.pending());
        view.put("locked", backlog.locked());
        putDuration(view, "oldestPendingAge", backlog.oldestPendingAge());
        putDuration(view, "longestOverdue", backlog.longestOverdue());
        return view;
    }

    /** Returns what this process does for the outbox, without I/O. */
    static Map<String, Object> of(OutboxInstance outbox) {
        Map<String, Object> view = new LinkedHashMap<>();
        OutboxDispatcher dispatcher = outbox.dispatcher();
        OutboxPoller poller = outbox.poller();
        if (poller != null && dispatcher != null) {
            view.put("relay", relay(poller.status(), dispatcher.status()));
        }
        Leadership leadership = outbox.leadership();
        if (leadership != null) {
            view.put("leader", leadership.isLeader());
        }
        if (dispatcher != null) {
            ProtectionStatus protection = dispatcher.protectionStatus();
            putUnlessEmpty(
                    view,
                    "pauses",
                    protection.pauses().stream().map(RelayView::pause).toList());
            putUnlessEmpty(
                    view,
                    "breakers",
                    protection.breakers().stream().map(RelayView::breaker).toList());
            putUnlessEmpty(
                    view,
                    "limits",
                    protection.limits().stream().map(RelayView::limit).toList());
        }
        return view;
    }

    private static Map<String, Object> relay(PollerStatus poller, DispatcherStatus dispatcher) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("running", poller.running());
        putDuration(view, "sinceLook", poller.sinceLook());
        view.put("workers", dispatcher.workers());
        view.put("liveWorkers", dispatcher.liveWorkers());
        putDuration(view, "marksFailingFor", dispatcher.marksFailingFor());
        view.put("hotWaiting", dispatcher.hotWaiting());
        view.put("coldWaiting", dispatcher.coldWaiting());
        return view;
    }

    private static Map<String, Object> pause(Pause pause) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("scope", pause.scope().name());
        if (!pause.name().isEmpty()) {
            view.put("name", pause.name());
        }
        view.put("since", pause.since().toString());
        view.put("by", pause.by());
        view.put("reason", pause.reason());
        return view;
    }

    private static Map<String, Object> limit(ProtectionStatus.Place limit) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("name", limit.name());
        view.put("running", limit.running());
        view.put("waiting", limit.waiting());
        view.put("overflowing", limit.overflowing());
        return view;
    }

    private static Map<String, Object> breaker(ProtectionStatus.Breaker breaker) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("name", breaker.name());
        view.put("state", breaker.state().name());
        view.put("waiting", breaker.waiting());
        return view;
    }

    static void putDuration(Map<String, Object> view, String key, @Nullable Duration duration) {
        if (duration != null) {
            view.put(key, duration.toString());
        }
    }

    private static void putUnlessEmpty(Map<String, Object> view, String key, List<?> values) {
        if (!values.isEmpty()) {
            view.put(key, values);
        }
    }
}
