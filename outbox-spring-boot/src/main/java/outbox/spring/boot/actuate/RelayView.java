package outbox.spring.boot.actuate;

import outbox.admin.Backlog;
import outbox.admin.Pause;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.poller.OutboxPoller;
import outbox.spi.Leadership;
import outbox.spring.boot.OutboxInstance;

import java.util.List;
import java.util.function.Function;

/** Converts the state of an outbox to the form that health and endpoint show. */
final class RelayView {

    private RelayView() {}

    static View backlog(Backlog backlog) {
        return new View()
                .with("pending", backlog.pending())
                .with("locked", backlog.locked())
                .with("oldestPendingAge", backlog.oldestPendingAge())
                .with("longestOverdue", backlog.longestOverdue());
    }

    /** Returns what this process does for the outbox, without I/O. */
    static View of(OutboxInstance outbox) {
        View view = new View();
        OutboxDispatcher dispatcher = outbox.dispatcher();
        OutboxPoller poller = outbox.poller();
        if (poller != null && dispatcher != null) {
            view.with("relay", relay(poller.status(), dispatcher.status()));
        }
        Leadership leadership = outbox.leadership();
        if (leadership != null) {
            view.with("leader", leadership.isLeader());
        }
        if (dispatcher != null) {
            Protection.Status protection = dispatcher.protectionStatus();
            view.with("pauses", views(protection.pauses(), RelayView::pause))
                    .with("breakers", views(protection.breakers(), RelayView::breaker))
                    .with("limits", views(protection.limits(), RelayView::limit));
        }
        return view;
    }

    private static <T> List<View> views(List<T> values, Function<T, View> view) {
        return values.stream().map(view).toList();
    }

    private static View relay(OutboxPoller.Status poller, OutboxDispatcher.Status dispatcher) {
        return new View()
                .with("running", poller.running())
                .with("sinceLook", poller.sinceLook())
                .with("workers", dispatcher.workers())
                .with("liveWorkers", dispatcher.liveWorkers())
                .with("marksFailingFor", dispatcher.marksFailingFor())
                .with("hotWaiting", dispatcher.hotWaiting())
                .with("coldWaiting", dispatcher.coldWaiting());
    }

    private static View pause(Pause pause) {
        return new View()
                .with("scope", pause.scope())
                .with("name", pause.name().isEmpty() ? null : pause.name())
                .with("since", pause.since())
                .with("by", pause.by())
                .with("reason", pause.reason());
    }

    private static View limit(Protection.Status.Place limit) {
        return new View()
                .with("name", limit.name())
                .with("running", limit.running())
                .with("waiting", limit.waiting())
                .with("overflowing", limit.overflowing());
    }

    private static View breaker(Protection.Status.Breaker breaker) {
        return new View()
                .with("name", breaker.name())
                .with("state", breaker.state())
                .with("waiting", breaker.waiting());
    }
}
