package outbox.rabbitmq;

import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import outbox.inbox.Inbox;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Consumes a queue of events. Each event takes effect once, and its message is acked after the effect is committed.
 *
 * <p>After a counted failure the message is redelivered at the end of the queue, with a growing delay and up to a
 * limit. The count is in a message header, so it survives restarts. After the last redelivery, or at once if the
 * message can never be handled, the message goes to the dead-letter exchange with the reason in a header. {@link
 * Redelivery#REQUEUE} uses {@code basicNack} instead. A failure of the database or the broker does not count: the
 * consumer keeps the message and runs it again. With concurrency 1, messages are handled in queue order, except those
 * that are redelivered or run again.
 *
 * <p>After a lost connection the consumer reconnects until it is closed, and the broker redelivers the unsettled
 * messages. The consumer declares nothing: it waits until the queue and the exchange exist. Thread-safe.
 */
public final class RabbitConsumer implements AutoCloseable {

    private static final Logger LOG = SafeLogger.of(RabbitConsumer.class);
    private static final int ANSWER_MILLIS =
            (int) Duration.ofSeconds(10).toMillis(); // time limit for a reply of the broker

    private final String queue;
    private final String consumer;
    private final Duration drainTime;
    private final MessageHandling handling;
    private final ConsumerCounts counts = new ConsumerCounts();
    private final InFlight inFlight = new InFlight();
    private final Settlement settlement;
    private final ExecutorService dispatch; // runs the callbacks of the client, which only hand over
    // the prefetch bounds its queue; messages of a lost connection are removed
    private final ThreadPoolExecutor workers;
    private final Subscriptions subscriptions;

    private RabbitConsumer(Builder settings) {
        queue = settings.required("queue", settings.queue);
        consumer = settings.required("consumer", settings.consumer);
        drainTime = settings.drainTime;
        ConnectionFactory factory =
                ownFactory(settings.required("connectionFactory", settings.connectionFactory), consumer);
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
        int prefetch = settings.prefetch;
        subscriptions = new Subscriptions(
                consumer,
                queue,
                () -> new Subscription(factory, dispatch, "outbox-" + consumer, queue, prefetch, this::arrived),
                settlement::abortIfStuck,
                this::forgetLost);
    }

    /** Disables the recovery of the client: it would let old delivery tags settle new messages. */
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

    /**
     * Starts consuming on its own threads as soon as the broker and the queue are available. No effect if already
     * started.
     */
    public void start() {
        subscriptions.start();
    }

    public ConsumerHealth health() {
        boolean consuming = subscriptions.isConsuming();
        String why = consuming ? settlement.trouble() : subscriptions.trouble();
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
     * Stops the delivery of messages and waits for the running handlers, up to the drain time. Messages that are not
     * handled by then return to the queue. A second call returns at once. Must not be called by a handler, because
     * close waits for it.
     */
    @Override
    public void close() {
        if (!subscriptions.end()) {
            return;
        }
        Subscription last = subscriptions.take();
        try {
            if (last != null) {
                last.cancel();
            }
            settlement.hurry();
            // also without a connection: the effect is committed even if the ack is lost
            if (!inFlight.awaitNone(drainTime)) {
                LOG.log(
                        Level.WARNING,
                        "Consumer {0} returns {1} messages to queue {2}: they were not handled within the drain time",
                        consumer,
                        inFlight.count(),
                        queue);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            if (last != null) {
                last.close(); // before the workers are interrupted, so that their results are not settled
            }
            workers.shutdownNow();
            settlement.close();
            dispatch.shutdown();
        }
    }

    /** Forgets the messages of lost connections, which the broker redelivers. */
    private void forgetLost() {
        settlement.forgetLost();
        for (Runnable task : workers.getQueue()) {
            if (task instanceof Work work && !work.arrival.isOurs() && workers.remove(work)) {
                inFlight.end();
            }
        }
    }

    /** Called on the dispatch thread. */
    private void arrived(Arrival arrival) {
        if (arrival.isOurs()) { // the client may deliver messages after the subscription ended
            inFlight.begin();
            hand(arrival);
        }
    }

    private void hand(Arrival arrival) {
        try {
            workers.execute(new Work(arrival));
        } catch (RejectedExecutionException e) {
            inFlight.end(); // closed: the message returns to the queue with the connection
        }
    }

    /** Runs the handler of a message on a worker. */
    private final class Work implements Runnable {

        private final Arrival arrival;

        Work(Arrival arrival) {
            this.arrival = arrival;
        }

        /** Skips a message of a lost connection, which the broker redelivers. */
        @Override
        public void run() {
            if (!arrival.isOurs()) {
                inFlight.end();
            } else if (!subscriptions.isRunning()) {
                arrival.requeue();
                inFlight.end();
            } else {
                new LogFields(arrival, queue, consumer)
                        .during(() -> settlement.settle(arrival, handling.run(arrival::read)));
            }
        }
    }

    /** Builds a consumer. Every setter refuses a wrong value. Not thread-safe. */
    public static final class Builder {

        private static final int MAX_CONSUMER = 64; // the limit of the inbox tables

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

        /** Required: the connection settings. The factory is copied; the consumer does its own recovery. */
        public Builder connectionFactory(ConnectionFactory connectionFactory) {
            this.connectionFactory = connectionFactory.clone();
            return this;
        }

        /** Required: the queue to consume. */
        public Builder queue(String queue) {
            this.queue = name("queue", queue);
            return this;
        }

        /**
         * Required: the name of the consumer in the inbox, logs and thread names, at most 64 characters. A consumer
         * with a new name handles all events again.
         */
        public Builder consumer(String consumer) {
            if (consumer.length() > MAX_CONSUMER || !consumer.strip().equals(consumer)) {
                throw new IllegalArgumentException("consumer must have 1 to " + MAX_CONSUMER
                        + " characters, without spaces at its ends: '" + consumer + "'");
            }
            this.consumer = name("consumer", consumer);
            return this;
        }

        /** Required: the inbox that records handled events. */
        public Builder inbox(Inbox inbox) {
            this.inbox = Objects.requireNonNull(inbox, "inbox");
            return this;
        }

        /** Sets the handler for events of one type. */
        public Builder handler(String eventType, MessageHandler handler) {
            if (handlers.putIfAbsent(name("eventType", eventType), Objects.requireNonNull(handler, "handler"))
                    != null) {
                throw new IllegalArgumentException("There are two handlers for events of type " + eventType);
            }
            return this;
        }

        /**
         * Sets the handler for all types without their own handler. Without it, such events become dead letters. At
         * least one handler is required.
         */
        public Builder handler(MessageHandler handler) {
            this.handler = Objects.requireNonNull(handler, "handler");
            return this;
        }

        /**
         * Sets the exchange and routing key for dead letters; use the same as the dead-letter exchange and key of the
         * queue. A message that cannot be delivered there is kept and tried again, so it is not lost. Required with
         * {@link Redelivery#COPY}; refused with {@link Redelivery#REQUEUE}, where the queue decides.
         */
        public Builder deadLetter(String exchange, String routingKey) {
            this.deadLetterExchange = Objects.requireNonNull(exchange, "exchange");
            this.deadLetterKey = name("routingKey", routingKey);
            return this;
        }

        /**
         * The maximum number of unsettled messages, 1 to 10000; default 20. Includes messages that wait for their
         * redelivery.
         */
        public Builder prefetch(int prefetch) {
            this.prefetch = between("prefetch", prefetch, 1, 10_000);
            return this;
        }

        /** The maximum number of messages handled concurrently, 1 to 1000; default 1, which keeps their order. */
        public Builder concurrency(int concurrency) {
            this.concurrency = between("concurrency", concurrency, 1, 1000);
            return this;
        }

        /** How messages are redelivered and dead-lettered; default {@link Redelivery#COPY}. */
        public Builder redelivery(Redelivery redelivery) {
            this.redelivery = Objects.requireNonNull(redelivery, "redelivery");
            return this;
        }

        /** The maximum number of redeliveries after counted failures, 0 to 1000; default 3. */
        public Builder maxRedeliveries(int maxRedeliveries) {
            this.maxRedeliveries = between("maxRedeliveries", maxRedeliveries, 0, 1000);
            return this;
        }

        /**
         * The delay before the first redelivery, 0 to 1 minute; default 1 second. It doubles each time, up to 1
         * minute.
         */
        public Builder redeliveryDelay(Duration redeliveryDelay) {
            if (redeliveryDelay.isNegative() || redeliveryDelay.compareTo(Duration.ofMinutes(1)) > 0) {
                throw new IllegalArgumentException(
                        "redeliveryDelay must be between 0 and 1 minute: " + redeliveryDelay);
            }
            this.redeliveryDelay = redeliveryDelay;
            return this;
        }

        /** How long close waits for running handlers, up to 1 day; default 30 seconds. */
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
                throw new IllegalArgumentException("deadLetter has no effect with REQUEUE:"
                        + " rejected messages go to the dead-letter exchange of the queue");
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
