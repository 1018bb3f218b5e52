package outbox.rabbitmq;

import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import outbox.inbox.Inbox;
import outbox.spi.SafeLogger;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Consumes a queue of events: each takes effect once, and is acked after its effect was committed.
 *
 * <p>A failure that counts is redelivered some times with a growing pause, from the end of the queue; the count is in a header of the message, and so survives everything. Then, and at once if
 * the message can never be handled, it goes to the dead-letter exchange with the reason in a header. {@link
 * Redelivery#REQUEUE} does both by {@code basicNack} instead. A failure of the database or of the broker does not
 * count: the message is
 * kept and run again. With a concurrency of 1 messages are handled in the order of the queue, except those that are redelivered or run again.
 *
 * <p>When the connection is lost, it is opened again for as long as the consumer is open; messages of the lost one come again. Declares nothing: queue and exchange must be there, and are
 * waited for. Thread-safe.
 */
public final class RabbitConsumer implements AutoCloseable {

    private enum State {
        NEW,
        RUNNING,
        CLOSED
    }

    private static final Logger LOG = SafeLogger.of(RabbitConsumer.class);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(4); // health must tell the truth within 5 s
    private static final long WATCH_SECONDS = 1;
    private static final int ANSWER_MILLIS =
            (int) Duration.ofSeconds(10).toMillis(); // of the broker, to what waits for one

    private final String queue;
    private final String consumer;
    private final int prefetch;
    private final Duration drainTime;
    private final ConnectionFactory factory;
    private final MessageHandling handling;
    private final ConsumerCounts counts = new ConsumerCounts();
    private final InFlight inFlight = new InFlight();
    private final Settlement settlement;
    private final ExecutorService dispatch; // the client's callbacks: they only hand over
    private final ThreadPoolExecutor workers; // its queue is bounded by the prefetch: what is lost is taken out
    private final AtomicReference<State> state = new AtomicReference<>(State.NEW);
    private final CountDownLatch closing = new CountDownLatch(1);
    private final AtomicReference<@Nullable Subscription> current =
            new AtomicReference<>(); // supervisor sets, close takes
    private volatile @Nullable String trouble = "not started"; // supervisor writes

    private RabbitConsumer(Builder settings) {
        queue = settings.required("queue", settings.queue);
        consumer = settings.required("consumer", settings.consumer);
        prefetch = settings.prefetch;
        drainTime = settings.drainTime;
        factory = ownFactory(settings.required("connectionFactory", settings.connectionFactory), consumer);
        if (settings.handlers.isEmpty() && settings.handler == null) {
            throw new IllegalArgumentException("handler is required");
        }
        handling = new MessageHandling(
                consumer, settings.required("inbox", settings.inbox), settings.handlers, settings.handler);
        settlement = new Settlement(settings, factory, counts, inFlight, this::hand);
        dispatch = Executors.newSingleThreadExecutor(ConsumerThreads.named(consumer, "dispatch"));
        workers = new ThreadPoolExecutor(
                settings.concurrency,
                settings.concurrency,
                0,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                ConsumerThreads.named(consumer, "worker"));
    }

    /** A recovery by the client would let the tags of before settle the messages of after. */
    private static ConnectionFactory ownFactory(ConnectionFactory given, String name) {
        ConnectionFactory own = given.clone();
        own.setAutomaticRecoveryEnabled(false);
        own.setTopologyRecoveryEnabled(false);
        own.setChannelRpcTimeout(ANSWER_MILLIS);
        own.setThreadFactory(ConsumerThreads.named(name, "client"));
        return own;
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Begins to consume, on threads of its own, as soon as broker and queue are there; no effect if it has begun. */
    public void start() {
        if (!state.compareAndSet(State.NEW, State.RUNNING)) {
            if (state.get() == State.CLOSED) {
                throw new IllegalStateException("The consumer is closed and cannot be started again; build a new one");
            }
            return;
        }
        trouble = "connecting";
        ConsumerThreads.named(consumer, "supervisor").newThread(this::supervise).start();
    }

    public ConsumerHealth health() {
        Subscription open = current.get();
        boolean consuming = open != null && open.isOpen() && isRunning();
        String why = consuming ? settlement.trouble() : Objects.requireNonNullElse(trouble, "the connection was lost");
        return new ConsumerHealth(
                consuming,
                why,
                inFlight.count(),
                counts.handled.sum(),
                counts.duplicates.sum(),
                counts.redelivered.sum(),
                counts.putOff.sum(),
                counts.deadLettered.sum());
    }

    /**
     * Lets no more messages arrive, and waits for those that are being handled, up to the drain time; what has not been handled by then goes back to the queue. A second call returns at
     * once. Not to be called by a handler, which it would wait for.
     */
    @Override
    public void close() {
        if (state.getAndSet(State.CLOSED) == State.CLOSED) {
            return;
        }
        trouble = "closed";
        closing.countDown();
        Subscription last = current.getAndSet(null);
        try {
            if (last != null) {
                last.cancel();
            }
            settlement.hurry();
            if (!inFlight.awaitNone(drainTime)) { // without a connection too: their effect counts, if not their ack
                LOG.log(
                        Level.WARNING,
                        "Consumer {0} leaves {1} messages of queue {2} to their next delivery: they took longer than the drain time",
                        consumer,
                        inFlight.count(),
                        queue);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            if (last != null) {
                last.close(); // before the workers are interrupted: what they do then is not settled
            }
            workers.shutdownNow();
            settlement.close();
            dispatch.shutdown();
        }
    }

    private boolean isRunning() {
        return state.get() == State.RUNNING;
    }

    private void supervise() {
        int failures = 0;
        do {
            try {
                Subscription open =
                        new Subscription(factory, dispatch, "outbox-" + consumer, queue, prefetch, this::arrived);
                failures = 0;
                trouble = watch(open);
            } catch (IOException | TimeoutException | RuntimeException | Error e) { // nobody would start it again
                failures = Math.min(failures + 1, 10);
                trouble = reason(e);
                end(current.getAndSet(null));
            }
            settlement.abortIfStuck();
            if (isRunning()) {
                LOG.log(Level.WARNING, "Consumer " + consumer + " does not get queue " + queue + ": " + trouble);
            }
        } while (!closesWithin(pause(failures)));
        if (state.get() == State.CLOSED) {
            trouble = "closed";
        }
    }

    private static String reason(Throwable e) {
        Throwable root = e.getMessage() == null && e.getCause() != null ? e.getCause() : e;
        return root.getMessage() == null ? root.toString() : root.getMessage();
    }

    /** Waits for the end of the subscription, and says why it ended. One that was opened during a close is closed here, as the close did not see it. */
    private String watch(Subscription open) {
        current.set(open);
        if (!isRunning() && current.compareAndSet(open, null)) {
            open.close();
            return "closed";
        }
        trouble = null;
        LOG.log(Level.INFO, "Consumer {0} consumes queue {1}", consumer, queue);
        while (isRunning()) {
            try {
                String why = open.end().get(WATCH_SECONDS, TimeUnit.SECONDS);
                if (current.compareAndSet(open, null)) {
                    end(open);
                }
                return why;
            } catch (TimeoutException e) {
                settlement.abortIfStuck();
            } catch (InterruptedException e) {
                LOG.log(Level.DEBUG, "Interrupt ignored: the consumer ends by close", e);
            } catch (ExecutionException e) {
                return reason(e); // cannot be: it is only ever completed
            }
        }
        return "closed";
    }

    /** Its messages are with somebody else by now, or will come again. */
    private void end(@Nullable Subscription last) {
        if (last == null) {
            return;
        }
        last.close();
        settlement.forgetLost();
        for (Runnable task : workers.getQueue()) {
            if (task instanceof Work work && !work.arrival.isOurs() && workers.remove(work)) {
                inFlight.end();
            }
        }
    }

    /** At most four seconds, give or take a quarter. */
    private static Duration pause(int failures) {
        long millis = Math.min(LONGEST_PAUSE.toMillis(), 250L << failures);
        return Duration.ofMillis(millis * 3 / 4 + ThreadLocalRandom.current().nextLong(millis / 4 + 1));
    }

    private boolean closesWithin(Duration pause) {
        try {
            return closing.await(pause.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            LOG.log(Level.DEBUG, "Interrupt ignored: the consumer ends by close", e);
            return !isRunning();
        }
    }

    /** Dispatch thread. */
    private void arrived(Arrival arrival) {
        if (arrival.isOurs()) { // the client may bring what came before the end
            inFlight.begin();
            hand(arrival);
        }
    }

    private void hand(Arrival arrival) {
        try {
            workers.execute(new Work(arrival));
        } catch (RejectedExecutionException e) {
            inFlight.end(); // closed: it goes back with its connection
        }
    }

    /** The run of a message by a worker. */
    private final class Work implements Runnable {

        private final Arrival arrival;

        Work(Arrival arrival) {
            this.arrival = arrival;
        }

        /** A message of a lost connection is with somebody else by now, or will come again. */
        @Override
        public void run() {
            if (!arrival.isOurs()) {
                inFlight.end();
            } else if (!isRunning()) {
                arrival.requeue();
                inFlight.end();
            } else {
                new LogFields(arrival, queue, consumer)
                        .during(() -> settlement.settle(arrival, handling.run(arrival::read)));
            }
        }
    }

    /** Collects the settings of a consumer; every setter refuses a wrong value. Not thread-safe. */
    public static final class Builder {

        private static final int MAX_CONSUMER = 64; // what every table of an inbox takes

        private @Nullable ConnectionFactory connectionFactory;

        @Nullable
        String queue;

        @Nullable
        String consumer;

        private @Nullable Inbox inbox;
        private @Nullable MessageHandler handler;
        private final Map<String, MessageHandler> handlers = new HashMap<>();
        private int prefetch = 20;
        private int concurrency = 1;
        Redelivery redelivery = Redelivery.COPY;
        int maxRedeliveries = 3;
        Duration redeliveryDelay = Duration.ofSeconds(1);

        @Nullable
        String deadLetterExchange;

        @Nullable
        String deadLetterKey;

        private Duration drainTime = Duration.ofSeconds(30);

        private Builder() {}

        /** Required: where the broker is. It is copied; recovery is the consumer's own. */
        public Builder connectionFactory(ConnectionFactory connectionFactory) {
            this.connectionFactory = connectionFactory.clone();
            return this;
        }

        /** Required: the queue to consume. */
        public Builder queue(String queue) {
            this.queue = name("queue", queue);
            return this;
        }

        /** Required: the name by which the inbox, logs and threads know the consumer, of 64 characters at most. Another name handles all events once more. */
        public Builder consumer(String consumer) {
            if (consumer.length() > MAX_CONSUMER || !consumer.strip().equals(consumer)) {
                throw new IllegalArgumentException("consumer must have 1 to " + MAX_CONSUMER
                        + " characters, without spaces at its ends: '" + consumer + "'");
            }
            this.consumer = name("consumer", consumer);
            return this;
        }

        /** Required: what remembers the events that were handled. */
        public Builder inbox(Inbox inbox) {
            this.inbox = Objects.requireNonNull(inbox, "inbox");
            return this;
        }

        /** What handles events of one type. */
        public Builder handler(String eventType, MessageHandler handler) {
            if (handlers.putIfAbsent(name("eventType", eventType), Objects.requireNonNull(handler, "handler"))
                    != null) {
                throw new IllegalArgumentException("There are two handlers for events of type " + eventType);
            }
            return this;
        }

        /** What handles events of types without a handler of their own; without it they are dead letters. One of the two is required. */
        public Builder handler(MessageHandler handler) {
            this.handler = Objects.requireNonNull(handler, "handler");
            return this;
        }

        /**
         * Where messages go that are given up, which is best what the queue itself names as its dead-letter exchange
         * and key. What cannot be delivered there is kept and tried again, rather
         * than being lost. Required with {@link Redelivery#COPY}, refused with {@link Redelivery#REQUEUE}, which
         * leaves them to the queue.
         */
        public Builder deadLetter(String exchange, String routingKey) {
            this.deadLetterExchange = Objects.requireNonNull(exchange, "exchange");
            this.deadLetterKey = name("routingKey", routingKey);
            return this;
        }

        /** How many messages may arrive before one is settled, 1 to 10000; default 20. Those that wait for their redelivery are among them. */
        public Builder prefetch(int prefetch) {
            this.prefetch = between("prefetch", prefetch, 1, 10_000);
            return this;
        }

        /** How many messages are handled at a time, 1 to 1000; default 1, which keeps their order. */
        public Builder concurrency(int concurrency) {
            this.concurrency = between("concurrency", concurrency, 1, 1000);
            return this;
        }

        /** How a message comes again, and how it is given up; default {@link Redelivery#COPY}. */
        public Builder redelivery(Redelivery redelivery) {
            this.redelivery = Objects.requireNonNull(redelivery, "redelivery");
            return this;
        }

        /** How often a message is redelivered after failures that count, 0 to 1000; default 3. */
        public Builder maxRedeliveries(int maxRedeliveries) {
            this.maxRedeliveries = between("maxRedeliveries", maxRedeliveries, 0, 1000);
            return this;
        }

        /** The pause before the first redelivery, up to a minute; it doubles with each, up to a minute; default 1 second. */
        public Builder redeliveryDelay(Duration redeliveryDelay) {
            if (redeliveryDelay.isNegative() || redeliveryDelay.compareTo(Duration.ofMinutes(1)) > 0) {
                throw new IllegalArgumentException(
                        "redeliveryDelay must be between 0 and 1 minute: " + redeliveryDelay);
            }
            this.redeliveryDelay = redeliveryDelay;
            return this;
        }

        /** How long a close waits for messages that are being handled, up to a day; default 30 seconds. */
        public Builder drainTime(Duration drainTime) {
            if (drainTime.isNegative() || drainTime.compareTo(Duration.ofDays(1)) > 0) {
                throw new IllegalArgumentException("drainTime must be between 0 and 1 day: " + drainTime);
            }
            this.drainTime = drainTime;
            return this;
        }

        public RabbitConsumer build() {
            if (concurrency > prefetch) {
                throw new IllegalArgumentException("concurrency " + concurrency + " is more than prefetch " + prefetch
                        + ": some workers would never get a message");
            }
            if (redelivery == Redelivery.REQUEUE && deadLetterExchange != null) {
                throw new IllegalArgumentException(
                        "deadLetter has no effect with REQUEUE: the queue's own dead-letter exchange takes what is given up");
            }
            return new RabbitConsumer(this);
        }

        <T> T required(String setting, @Nullable T value) {
            if (value == null) {
                throw new IllegalArgumentException(setting + " is required");
            }
            return value;
        }

        private static String name(String setting, String value) {
            if (value.isBlank() || value.length() > 255 || value.chars().anyMatch(Character::isISOControl)) {
                throw new IllegalArgumentException(
                        setting + " must have 1 to 255 characters, none of them a control character: '" + value + "'");
            }
            return value;
        }

        private static int between(String setting, int value, int least, int most) {
            if (value < least || value > most) {
                throw new IllegalArgumentException(
                        setting + " must be between " + least + " and " + most + ": " + value);
            }
            return value;
        }
    }
}
