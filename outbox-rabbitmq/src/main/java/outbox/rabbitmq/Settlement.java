package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import outbox.internal.text.PrintableText;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Clock;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/**
 * Settles messages after handling. A handled message is acked. A failed message is kept unacked for a delay and then
 * published again to its queue with a higher count. A message that failed too often or can never be handled is
 * published to the dead-letter exchange with the reason. In both cases the original is acked after the copy is
 * confirmed, so a crash leaves at least one of them, and the inbox handles the duplicate. While no copy can be
 * published, the original is kept. With {@link Redelivery#REQUEUE} there are no copies: the original is nacked, and
 * the counts are in memory.
 *
 * <p>Threads: workers call settle; the courier thread does everything that waits.
 */
final class Settlement {

    private static final Logger LOG = SafeLogger.of(Settlement.class);
    private static final Clock CLOCK = Clock.systemUTC(); // only for the failed-at header
    private static final Duration LONGEST_DELAY = Duration.ofMinutes(1);
    private static final Duration LONGEST_PUT_OFF = Duration.ofSeconds(30);
    private static final Duration SHORTEST_PUT_OFF = Duration.ofSeconds(1);
    private static final int MAX_DOUBLINGS = 20;

    private final String queue;
    private final String consumer;
    private final @Nullable RequeueCounts requeues; // null if the count is in the copies
    private final int maxRedeliveries;
    private final Duration redeliveryDelay;
    private final String deadLetterExchange; // used with copies only
    private final String deadLetterKey;
    private final ConsumerCounts counts;
    private final InFlight inFlight;
    private final CopyPublisher copies;
    private final ScheduledThreadPoolExecutor courier;
    private final Consumer<Arrival> again;
    private final Set<Held> held =
            // kept until their delay ends; the thread that removes an entry completes it
            ConcurrentHashMap.newKeySet();
    private final AtomicInteger putOffInRow = new AtomicInteger();
    private volatile boolean closing;
    private volatile @Nullable String trouble; // of the last failed copy, while a message is kept because of it

    /** @param again runs the handler of a message again; the message stays in flight */
    Settlement(
            RabbitConsumer.Builder settings,
            ConnectionFactory factory,
            ConsumerCounts counts,
            InFlight inFlight,
            Consumer<Arrival> again) {
        queue = settings.required("queue", settings.queue);
        consumer = settings.required("consumer", settings.consumer);
        maxRedeliveries = settings.maxRedeliveries;
        redeliveryDelay = settings.redeliveryDelay;
        boolean isCopied = settings.redelivery == Redelivery.COPY;
        requeues = isCopied ? null : new RequeueCounts();
        deadLetterExchange = isCopied ? settings.required("deadLetter", settings.deadLetterExchange) : "";
        deadLetterKey = isCopied ? settings.required("deadLetter", settings.deadLetterKey) : "";
        this.counts = counts;
        this.inFlight = inFlight;
        this.again = again;
        copies = new CopyPublisher(factory, consumer);
        courier = new ScheduledThreadPoolExecutor(1, ConsumerThreads.named(consumer, "courier"));
        courier.setRemoveOnCancelPolicy(true);
        courier.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    /** Returns why copies cannot be published now, or null if they can. */
    @Nullable
    String trouble() {
        String blocked = copies.blocked();
        return blocked == null ? trouble : "The broker accepts no messages now: " + blocked;
    }

    void abortIfStuck() {
        copies.abortIfStuck();
    }

    /** Settles the message now, or later on the courier thread. */
    void settle(Arrival arrival, Outcome outcome) {
        switch (outcome.kind()) {
            case HANDLED -> {
                counts.handled.increment();
                done(arrival);
            }
            case DUPLICATE -> {
                counts.duplicates.increment();
                LOG.log(Level.DEBUG, "Skipped, because it was handled before {0}", arrival.describe(queue, consumer));
                done(arrival);
            }
            case PUT_OFF -> putOff(arrival, outcome);
            case FAILED -> {
                int redeliveries = requeues == null
                        ? MessageHeaders.number(arrival.properties(), MessageHeaders.REDELIVERIES)
                        : requeues.of(arrival.eventId());
                if (redeliveries >= maxRedeliveries) {
                    deadLetter(arrival, outcome.deadAfter(redeliveries));
                } else {
                    redeliver(arrival, outcome, redeliveries);
                }
            }
            case DEAD -> deadLetter(arrival, outcome);
        }
    }

    private void done(Arrival arrival) {
        putOffInRow.set(0);
        if (requeues != null) {
            requeues.forget(arrival.eventId());
        }
        arrival.ack();
        inFlight.end();
    }

    private void putOff(Arrival arrival, Outcome outcome) {
        counts.putOff.increment();
        LOG.log(
                Level.WARNING,
                "Postponed, failure not counted " + arrival.describe(queue, consumer) + ": " + outcome.reason());
        later(arrival, longer(outcome.delay(), putOffDelay()), () -> runAgain(arrival));
    }

    /**
     * Runs the message again in this consumer, without a requeue: a quorum queue counts requeues and drops or
     * dead-letters the message at its delivery limit. With REQUEUE the message is requeued.
     */
    private boolean runAgain(Arrival arrival) {
        if (closing || requeues != null || !arrival.isOurs()) {
            arrival.requeue();
            return true;
        }
        again.accept(arrival);
        return false;
    }

    /** Returns the delay, which doubles until a message is handled. */
    private Duration putOffDelay() {
        return doubled(
                SHORTEST_PUT_OFF, putOffInRow.getAndUpdate(n -> Math.min(n + 1, MAX_DOUBLINGS)), LONGEST_PUT_OFF);
    }

    private void redeliver(Arrival arrival, Outcome outcome, int redeliveries) {
        LOG.log(
                Level.WARNING,
                "Failed, redelivery " + (redeliveries + 1) + " of " + maxRedeliveries + " follows "
                        + arrival.describe(queue, consumer) + ": " + outcome.reason());
        Duration delay = longer(outcome.delay(), doubled(redeliveryDelay, redeliveries, LONGEST_DELAY));
        if (requeues != null) {
            requeues.increment(arrival.eventId());
            later(arrival, delay, () -> {
                counts.redelivered.increment();
                arrival.requeue();
                return true;
            });
            return;
        }
        later(arrival, delay, () -> {
            Map<String, Object> headers = origin(arrival);
            headers.put(MessageHeaders.REDELIVERIES, redeliveries + 1);
            headers.put(MessageHeaders.REASON, outcome.reason());
            BasicProperties properties = MessageHeaders.copied(arrival.properties(), Set.of(), headers);
            return replace(arrival, "", queue, properties, counts.redelivered);
        });
    }

    private void deadLetter(Arrival arrival, Outcome outcome) {
        LOG.log(Level.ERROR, "Dead letter " + arrival.describe(queue, consumer) + ": " + outcome.reason());
        if (requeues != null) {
            requeues.forget(arrival.eventId());
            counts.deadLettered.increment();
            arrival.reject();
            inFlight.end();
            return;
        }
        later(arrival, Duration.ZERO, () -> {
            Map<String, Object> headers = origin(arrival);
            headers.put(MessageHeaders.REASON, outcome.reason());
            headers.put(MessageHeaders.CONSUMER, consumer);
            headers.put(MessageHeaders.QUEUE, queue);
            headers.put(MessageHeaders.FAILED_AT, CLOCK.instant().toString());
            BasicProperties properties = MessageHeaders.copied(arrival.properties(), Set.of(), headers)
                    .builder()
                    .expiration(null) // a dead letter must not expire
                    .build();
            return replace(arrival, deadLetterExchange, deadLetterKey, properties, counts.deadLettered);
        });
    }

    /** Returns headers with the original exchange and routing key. */
    private static Map<String, Object> origin(Arrival arrival) {
        Map<String, Object> headers = new HashMap<>();
        if (!MessageHeaders.of(arrival.properties()).containsKey(MessageHeaders.EXCHANGE)) {
            headers.put(MessageHeaders.EXCHANGE, arrival.envelope().getExchange());
            headers.put(MessageHeaders.ROUTING_KEY, arrival.envelope().getRoutingKey());
        }
        return headers;
    }

    /**
     * Publishes a copy and acks the original. Runs on the courier thread. Skips a message that this consumer no
     * longer holds.
     */
    private boolean replace(
            Arrival arrival, String exchange, String routingKey, BasicProperties properties, LongAdder count) {
        if (!arrival.isOurs()) {
            return true;
        }
        try {
            copies.publish(exchange, routingKey, properties, arrival.body());
            count.increment();
            arrival.ack();
            return true;
        } catch (CopyPublisher.NotPublishedException e) {
            String why = PrintableText.of(String.valueOf(e.getMessage()));
            LOG.log(Level.WARNING, "Cannot publish the copy " + arrival.describe(queue, consumer) + ": " + why);
            if (closing) {
                arrival.requeue();
                return true;
            }
            hold(
                    new Held(arrival, () -> replace(arrival, exchange, routingKey, properties, count), true),
                    putOffDelay());
            trouble = why;
            return false;
        }
    }

    /** The action for a kept message. Returns whether the message is settled. */
    private interface Step {
        boolean run();
    }

    private static final class Held {

        final Arrival arrival;
        final Step step;
        final boolean lacksCopy; // whether it is kept because its copy failed
        volatile @Nullable Future<?> timer; // written by the thread that schedules the entry

        Held(Arrival arrival, Step step, boolean lacksCopy) {
            this.arrival = arrival;
            this.step = step;
            this.lacksCopy = lacksCopy;
        }
    }

    private void later(Arrival arrival, Duration delay, Step step) {
        hold(new Held(arrival, step, false), delay);
    }

    private void hold(Held entry, Duration delay) {
        held.add(entry);
        try {
            entry.timer = courier.schedule(() -> fire(entry), delay.toNanos(), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) { // closed: the message returns to the queue with the subscription
            forget(entry);
        }
        if (closing) {
            flush();
        }
    }

    /** Runs on the courier thread. Only the first call for an entry has an effect. */
    private void fire(Held entry) {
        if (held.remove(entry)) {
            new LogFields(entry.arrival, queue, consumer).during(() -> run(entry));
        }
    }

    private void run(Held entry) {
        boolean isOver = true;
        try {
            isOver = entry.step.run();
        } catch (RuntimeException | Error e) {
            LOG.log(Level.ERROR, "A message could not be settled " + entry.arrival.describe(queue, consumer), e);
            isOver = !requeueLater(entry.arrival);
        } finally {
            if (isOver) {
                inFlight.end();
            }
            clearTrouble();
        }
    }

    /** Requeues the message after a delay, because it would fail again immediately. Returns whether it is kept. */
    private boolean requeueLater(Arrival arrival) {
        Step requeue = () -> {
            arrival.requeue();
            return true;
        };
        if (closing) {
            requeue.run();
            return false;
        }
        later(arrival, putOffDelay(), requeue);
        return true;
    }

    private void clearTrouble() {
        if (trouble != null && held.stream().noneMatch(entry -> entry.lacksCopy)) {
            trouble = null;
        }
    }

    /** Removes messages whose subscription has ended; the broker redelivers them. */
    void forgetLost() {
        for (Held entry : held) {
            if (!entry.arrival.isOurs()) {
                forget(entry);
            }
        }
    }

    private void forget(Held entry) {
        if (held.remove(entry)) {
            Future<?> timer = entry.timer;
            if (timer != null) {
                timer.cancel(false);
            }
            inFlight.end();
            clearTrouble();
        }
    }

    /** Ends all delays. */
    void hurry() {
        closing = true;
        flush();
    }

    private void flush() {
        try {
            held.forEach(entry -> courier.execute(() -> fire(entry)));
        } catch (RejectedExecutionException e) {
            held.forEach(this::forget);
        }
    }

    void close() {
        courier.shutdownNow();
        copies.close();
    }

    private static Duration doubled(Duration first, int times, Duration longest) {
        Duration delay = first.multipliedBy(1L << Math.min(times, MAX_DOUBLINGS));
        return delay.compareTo(longest) > 0 ? longest : delay;
    }

    /**
     * Returns the longer delay, but at most LONGEST_DELAY: the broker closes a channel that keeps a message unacked
     * for too long.
     */
    private static Duration longer(Duration asked, Duration ours) {
        Duration delay = asked.compareTo(ours) > 0 ? asked : ours;
        return delay.compareTo(LONGEST_DELAY) > 0 ? LONGEST_DELAY : delay;
    }
}
