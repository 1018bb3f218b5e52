package outbox.samples.demo;

import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** One run: customers place orders for a while, then the outbox drains, then the books are checked. */
final class Demo {

    private static final Duration DRAIN_LIMIT = Duration.ofSeconds(30);

    private final Path directory;
    private final Screen screen;
    private final CountDownLatch stop;
    private final Ledger ledger = new Ledger();

    /** @param stop ends the ordering early */
    Demo(Path directory, Screen screen, CountDownLatch stop) {
        this.directory = directory;
        this.screen = screen;
        this.stop = stop;
    }

    /** Returns whether the books balance. */
    boolean run(Duration duration) throws SQLException, InterruptedException {
        try (ShopDatabase database = new ShopDatabase(directory)) {
            try (ShopOutbox outbox = new ShopOutbox(database.dataSource(), ledger)) {
                order(new Shop(outbox, ledger), database, duration);
                drain(database);
            }
            Books books = Books.audit(database, ledger);
            screen.print(books.lines());
            return books.balance();
        }
    }

    private void order(Shop shop, ShopDatabase database, Duration duration) throws SQLException, InterruptedException {
        long end = System.nanoTime() + duration.toNanos();
        Customers customers = new Customers(shop, ledger);
        customers.start();
        try {
            long left = duration.toNanos();
            while (left > 0 && !stop.await(Math.min(left, screen.interval().toNanos()), TimeUnit.NANOSECONDS)) {
                left = end - System.nanoTime();
                show("ordering, " + Math.round(Math.max(0, left) / 1e9) + " s left", database);
            }
        } finally {
            customers.stop();
        }
    }

    /** Waits until every event is delivered or dead. Failed events are retried, which takes a few seconds. */
    private void drain(ShopDatabase database) throws SQLException, InterruptedException {
        CountDownLatch never = new CountDownLatch(1);
        long end = System.nanoTime() + DRAIN_LIMIT.toNanos();
        while (database.pending() > 0 && System.nanoTime() < end) {
            show("closed, the outbox drains", database);
            never.await(screen.interval().toNanos(), TimeUnit.NANOSECONDS);
        }
        show("closed, the outbox is " + (database.pending() == 0 ? "empty" : "NOT empty"), database);
    }

    private void show(String state, ShopDatabase database) throws SQLException {
        screen.show(state, ledger.totals(), database.pending());
    }
}
