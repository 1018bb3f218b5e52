package outbox.benchmarks;

import org.jspecify.annotations.Nullable;
import outbox.benchmarks.Contender.Node;

import java.time.Duration;
import java.util.List;

/** Writes invoices at a constant rate during a measurement, on its own thread, from the start until it is closed. */
final class Invoicing implements AutoCloseable {
    static final int MOST = 10_000;

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final Plan plan;
    private final Node node;
    private final int perSecond;
    private final Thread thread = new Thread(this::run, "invoices");
    private volatile boolean closed;
    private volatile @Nullable Exception failure; // written by the thread; close throws it

    private Invoicing(Plan plan, Node node, int perSecond) {
        this.plan = plan;
        this.node = node;
        this.perSecond = perSecond;
    }

    static Invoicing start(Plan plan, Node node, int perSecond) {
        Invoicing invoicing = new Invoicing(plan, node, perSecond);
        invoicing.thread.start();
        return invoicing;
    }

    /** Returns the number of the first invoice. All events of the plan and of its warm-up have smaller numbers. */
    static int first(Plan plan) {
        return plan.events() + 1_000_000;
    }

    private void run() {
        long start = System.nanoTime();
        try {
            for (int i = 0; i < MOST && !closed; i++) {
                Event event = plan.event(first(plan) + i);
                Writers.withRetry(() -> node.writeInvoices(List.of(event)));
                Pause.untilNanoTime(start + (i + 1) * 1_000_000_000L / perSecond);
            }
        } catch (Exception e) {
            failure = e;
        }
    }

    @Override
    public void close() {
        closed = true;
        try {
            thread.join(PATIENCE.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (thread.isAlive()) {
            throw new IllegalStateException("The last invoice was not written within " + PATIENCE);
        }
        if (failure != null) {
            throw new IllegalStateException("Invoices could not be written", failure);
        }
    }
}
