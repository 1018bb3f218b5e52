package outbox.samples.demo;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Threads that place orders: usually one at a time, and sometimes in a burst that overflows the hot queue. */
final class Customers {

    private static final Logger LOG = System.getLogger(Customers.class.getName());
    private static final int THREADS = 4;
    private static final int RUSH = 150;
    private static final int VISITS_BETWEEN_RUSHES = 100;
    private static final int FIRST_RUSH = 30;

    private final Shop shop;
    private final Ledger ledger;
    private final AtomicLong lastNumber = new AtomicLong();
    private final CountDownLatch stopping = new CountDownLatch(1);
    private final List<Thread> threads = new ArrayList<>();

    Customers(Shop shop, Ledger ledger) {
        this.shop = shop;
        this.ledger = ledger;
    }

    void start() {
        for (int i = 1; i <= THREADS; i++) {
            Thread thread = new Thread(this::orderUntilStopped, "customer-" + i);
            threads.add(thread);
            thread.start();
        }
    }

    private void orderUntilStopped() {
        try {
            for (int visit = 1; !stopping.await(pauseMillis(), TimeUnit.MILLISECONDS); visit++) {
                int orders = visit % VISITS_BETWEEN_RUSHES == FIRST_RUSH ? RUSH : 1;
                for (int i = 0; i < orders; i++) {
                    order(lastNumber.incrementAndGet());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static int pauseMillis() {
        return ThreadLocalRandom.current().nextInt(5, 26);
    }

    private void order(long number) {
        Order order = new Order(number, number % 1000 == 50 ? Order.ATLANTIS : "Norway");
        try {
            switch ((int) (number % 10)) {
                case 0, 5 -> shop.importOrder(order);
                case 3 -> shop.placeWithBadCard(order);
                case 6 -> shop.placeWithGiftOutOfStock(order);
                default -> shop.place(order);
            }
        } catch (PaymentRefusedException e) {
            ledger.rolledBack(order);
        } catch (SQLException | RuntimeException e) {
            ledger.rolledBack(order);
            LOG.log(Level.ERROR, "Order " + number + " failed", e);
        }
    }

    /** Waits until every customer has finished the current order. */
    void stop() throws InterruptedException {
        stopping.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
