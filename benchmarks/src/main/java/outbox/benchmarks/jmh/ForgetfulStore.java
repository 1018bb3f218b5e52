package outbox.benchmarks.jmh;

import outbox.EventEnvelope;
import outbox.model.OutboxEvent;
import outbox.spi.EventStore;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** A store that accepts every call and keeps nothing. Its connections lead nowhere. */
final class ForgetfulStore implements EventStore {

    static Connection connection() {
        return (Connection) Proxy.newProxyInstance(
                ForgetfulStore.class.getClassLoader(), new Class<?>[] {Connection.class}, (self, method, arguments) -> {
                    Class<?> type = method.getReturnType();
                    if (type == boolean.class) {
                        return false;
                    }
                    return type == int.class ? 0 : null;
                });
    }

    @Override
    public void insertNew(Connection conn, EventEnvelope event) {}

    @Override
    public int markDone(Connection conn, String eventId) {
        return 1;
    }

    @Override
    public int markRetry(Connection conn, String eventId, Instant nextAt, String error) {
        return 1;
    }

    @Override
    public int markDead(Connection conn, String eventId, String error) {
        return 1;
    }

    @Override
    public List<OutboxEvent> pollPending(Connection conn, Instant now, Duration skipRecent, int limit) {
        return List.of();
    }
}
