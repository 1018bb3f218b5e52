package outbox.testing.fault;

import outbox.testing.fault.FaultyDataSource.ClosedConnection;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** Records how the connections of a data source were used. Any thread may call any method. */
final class ConnectionBooks {
    private static final int KEPT = 10_000;

    private final Deque<ClosedConnection> closed = new ArrayDeque<>(); // guarded by this
    private int open; // guarded by this
    private int peak; // guarded by this
    private long statements; // guarded by this

    synchronized void opened() {
        open++;
        peak = Math.max(peak, open);
    }

    synchronized void closed(ClosedConnection connection) {
        open--;
        if (closed.size() == KEPT) {
            closed.remove();
        }
        closed.add(connection);
    }

    synchronized void statementSent() {
        statements++;
    }

    synchronized long statements() {
        return statements;
    }

    synchronized int open() {
        return open;
    }

    synchronized int peak() {
        return peak;
    }

    synchronized List<ClosedConnection> closed() {
        return List.copyOf(closed);
    }
}
