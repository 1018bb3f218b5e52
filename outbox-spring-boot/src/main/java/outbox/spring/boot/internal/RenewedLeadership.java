package outbox.spring.boot.internal;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.JdbcLeadership;
import outbox.spi.Leadership;

import java.time.Duration;
import javax.sql.DataSource;

/**
 * A leadership that can be used again after a close: the next {@link #lead} creates a new one. Some stores keep a
 * reference to it for their whole lifetime.
 */
final class RenewedLeadership implements Leadership {

    private final DataSource dataSource;
    private final String table;
    private final Duration term;
    private volatile @Nullable JdbcLeadership current; // written under the lock of this, read by any thread

    RenewedLeadership(DataSource dataSource, String table, Duration term) {
        this.dataSource = dataSource;
        this.table = table;
        this.term = term;
    }

    @Override
    public boolean lead() {
        return current().lead();
    }

    private synchronized JdbcLeadership current() {
        JdbcLeadership known = current;
        if (known == null) {
            known = JdbcLeadership.of(dataSource, table, term);
            current = known;
        }
        return known;
    }

    @Override
    public boolean isLeader() {
        Leadership known = current;
        return known != null && known.isLeader();
    }

    @Override
    public boolean isLed() {
        JdbcLeadership known = current;
        return known == null || known.isLed();
    }

    @Override
    public void close() {
        Leadership known;
        synchronized (this) {
            known = current;
            current = null;
        }
        if (known != null) {
            known.close();
        }
    }
}
