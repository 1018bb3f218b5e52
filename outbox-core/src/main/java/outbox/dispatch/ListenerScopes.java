package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;

/**
 * The objects that interceptors opened on the thread of a listener for the duration of its call. They are closed
 * in reverse order.
 */
final class ListenerScopes {

    private static final Logger LOG = SafeLogger.of(ListenerScopes.class);
    private static final ListenerScopes NONE = new ListenerScopes(List.of());

    private final List<AutoCloseable> open;

    private ListenerScopes(List<AutoCloseable> open) {
        this.open = open;
    }

    static ListenerScopes enter(List<EventInterceptor> interceptors, List<EventEnvelope> events) throws Exception {
        ListenerScopes scopes = NONE;
        for (EventInterceptor interceptor : interceptors) {
            try {
                scopes = scopes.with(interceptor.enterListener(events));
            } catch (Throwable e) {
                scopes.close();
                throw e;
            }
        }
        return scopes;
    }

    private ListenerScopes with(@Nullable AutoCloseable scope) {
        if (scope == null) {
            return this;
        }
        ListenerScopes scopes = this == NONE ? new ListenerScopes(new ArrayList<>(2)) : this;
        scopes.open.add(scope);
        return scopes;
    }

    void close() {
        for (int i = open.size() - 1; i >= 0; i--) {
            try {
                open.get(i).close();
            } catch (Throwable e) {
                LOG.log(Level.WARNING, "An interceptor failed after the call of a listener; the outcome stands", e);
            }
        }
    }
}
