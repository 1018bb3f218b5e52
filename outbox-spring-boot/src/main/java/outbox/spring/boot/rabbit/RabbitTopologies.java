package outbox.spring.boot.rabbit;

import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;
import outbox.RetryLaterException;
import outbox.internal.text.SafeLogger;
import outbox.rabbitmq.RabbitTopology;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * Declares the topologies of the application before anything is published or consumed. If the broker is unavailable,
 * the application starts anyway, and a thread keeps trying. Until it succeeds, events wait: an event for a missing
 * exchange would consume an attempt.
 *
 * <p>Threads: Spring's lifecycle thread starts and stops it. A separate thread declares while the broker is
 * unavailable. Any thread may call {@link #requireDeclared}.
 */
final class RabbitTopologies implements SmartLifecycle {

    static final int PHASE = Integer.MIN_VALUE + 1000; // starts before all components that use the broker

    private static final Logger LOG = SafeLogger.of(RabbitTopologies.class);
    private static final int LIMIT_MILLIS = 5_000; // to connect, and for each reply
    private static final long PAUSE_MILLIS = 1_000;

    private final List<RabbitTopology> topologies;
    private final Supplier<RabbitAccess> access;
    private volatile boolean declared; // written by the thread that declares, read by any thread
    // written by the thread that declares, read by any thread
    private volatile String trouble = "has not been asked yet";
    private @Nullable CountDownLatch stopping; // Spring's lifecycle thread only

    RabbitTopologies(List<RabbitTopology> topologies, Supplier<RabbitAccess> access) {
        this.topologies = topologies;
        this.access = access;
        this.declared = topologies.isEmpty();
    }

    @Override
    public void start() {
        CountDownLatch end = new CountDownLatch(1);
        stopping = end;
        if (!topologies.isEmpty() && !declareAll()) {
            Thread thread = new Thread(() -> declareUntil(end), "outbox-rabbitmq-topology");
            thread.setDaemon(true);
            thread.start();
        }
    }

    private void declareUntil(CountDownLatch end) {
        try {
            while (!end.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS) && !declareAgain()) {}
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean declareAgain() {
        try {
            return declareAll();
        } catch (RuntimeException | Error e) {
            tell(Level.ERROR, String.valueOf(e.getMessage())); // an operator must act; the thread keeps trying
            return false;
        }
    }

    /** Returns false if the broker is unavailable. Throws if the broker refuses a declaration. */
    private boolean declareAll() {
        RabbitAccess broker = access.get();
        ConnectionFactory factory = broker.factory().clone();
        factory.setAutomaticRecoveryEnabled(false);
        factory.setConnectionTimeout(LIMIT_MILLIS);
        factory.setHandshakeTimeout(LIMIT_MILLIS);
        factory.setChannelRpcTimeout(LIMIT_MILLIS);
        try (Connection connection = open(factory, broker)) {
            for (RabbitTopology topology : topologies) {
                topology.declare(connection);
            }
            declared = true;
            return true;
        } catch (IOException | TimeoutException e) {
            tell(Level.WARNING, "RabbitMQ cannot be reached to declare its topology, which is tried again: " + e);
            return false;
        }
    }

    private static Connection open(ConnectionFactory factory, RabbitAccess broker)
            throws IOException, TimeoutException {
        String name = "outbox-topology";
        return broker.addresses() == null
                ? factory.newConnection(name)
                : factory.newConnection(null, broker.addresses(), name);
    }

    /** Logs each outage once. */
    private void tell(Level level, String text) {
        if (!text.equals(trouble)) {
            LOG.log(level, text);
        }
        trouble = text;
    }

    /** Throws if the topologies are not declared yet, so that the event is postponed. */
    void requireDeclared() {
        if (!declared) {
            throw new RetryLaterException(
                    RetryLaterException.SHORTEST_UNCOUNTED, "The topology of RabbitMQ is not declared yet: " + trouble);
        }
    }

    @Override
    public void stop() {
        CountDownLatch end = stopping;
        stopping = null;
        if (end != null) {
            end.countDown();
        }
    }

    @Override
    public boolean isRunning() {
        return stopping != null;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }
}
