package outbox.spring.boot.inbox;

import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;
import outbox.internal.text.SafeLogger;
import outbox.jdbc.JdbcInbox;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Deletes inbox marks that are older than the retention. Every node runs the purge; concurrent runs do no harm.
 *
 * <p>Threads: Spring's lifecycle thread starts and stops it. A separate thread purges.
 */
final class InboxPurge implements SmartLifecycle {

    private static final Logger LOG = SafeLogger.of(InboxPurge.class);
    private static final long LAST_BATCH_SECONDS = 10; // a batch is short

    private record Run(CountDownLatch stopping, CountDownLatch ended) {}

    private final JdbcInbox inbox;
    private final Duration retention;
    private final Duration interval;
    private @Nullable Run run; // Spring's lifecycle thread only

    InboxPurge(JdbcInbox inbox, OutboxInboxProperties settings) {
        this.inbox = inbox;
        this.retention = Objects.requireNonNull(settings.retention(), "retention");
        this.interval = settings.purgeInterval();
    }

    @Override
    public void start() {
        Run started = new Run(new CountDownLatch(1), new CountDownLatch(1));
        run = started;
        Thread thread = new Thread(() -> loop(started), "outbox-inbox-purge");
        thread.setDaemon(true);
        thread.start();
    }

    private void loop(Run started) {
        try {
            do {
                purge(started);
            } while (!started.stopping.await(interval.toMillis(), TimeUnit.MILLISECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            started.ended.countDown();
        }
    }

    private void purge(Run started) {
        try {
            long forgotten = inbox.purge(retention, () -> started.stopping.getCount() == 0);
            LOG.log(Level.DEBUG, "Purged {0} marks of inbox {1}", forgotten, inbox.table());
        } catch (RuntimeException | Error e) {
            LOG.log(Level.WARNING, "Cannot purge inbox " + inbox.table() + "; trying again in " + interval, e);
        }
    }

    /** Waits for the current batch, so that the connection pool is not closed while the batch uses it. */
    @Override
    public void stop() {
        Run stopped = run;
        run = null;
        if (stopped == null) {
            return;
        }
        stopped.stopping.countDown();
        try {
            if (!stopped.ended.await(LAST_BATCH_SECONDS, TimeUnit.SECONDS)) {
                LOG.log(Level.WARNING, "The purge of inbox {0} has not ended yet", inbox.table());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public boolean isRunning() {
        return run != null;
    }
}
