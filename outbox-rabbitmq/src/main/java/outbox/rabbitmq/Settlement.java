package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import outbox.spi.PrintableText;
import outbox.spi.SafeLogger;

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
 * Settles messages after their run. What is handled is acked. What failed is held for a while, unacked, and then published again to its queue with a higher count; what failed too often or can
 * never be handled is published to the dead-letter exchange with the reason. In both cases the original is acked after the copy was confirmed, so a crash at any point leaves one of
 * them at least, and the inbox takes care of two. As long as there is no copy, the original is kept. With {@link
 * Redelivery#REQUEUE} there are no copies: the original is nacked, and the counts are here.
 *
 * <p>Threads: workers call settle; one thread of its own does everything that waits.
 */
final class Settlement {

    private static final Logger LOG = SafeLogger.of(Settlement.class);
    private static final Clock CLOCK = Clock.systemUTC(); // only told to people
    private static final Duration LONGEST_DELAY = Duration.ofMinutes(1);
    private static final Duration LONGEST_PUT_OFF = Duration.ofSeconds(30);
    private static final Duration SHORTEST_PUT_OFF = Duration.ofSeconds(1);
    private static final int MAX_DOUBLINGS = 20;

    private final String queue;
    private final String consumer;
    private final @Nullable RequeueCounts requeues; // null if copies carry the count
    private final int maxRedeliveries;
    private final Duration redeliveryDelay;
    private final String deadLetterExchange; // of copies
    private final String deadLetterKey;
    private final ConsumerCounts counts;
    private final InFlight inFlight;
    private final CopyPublisher copies;
    private final ScheduledThreadPoolExecutor courier;
    private final Consumer<Arrival> again;
    private final Set<Held> held =
            ConcurrentHashMap.newKeySet(); // until their time comes; whoever removes one, ends it
    private final AtomicInteger putOffInRow = new AtomicInteger();
    private volatile boolean closing;
    private volatile @Nullable String trouble; // of the last copy that failed, while one is held for that

    /** @param again runs a message once more; it is still in flight */
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

    /** Why copies cannot be passed on now; null if they can. */
    @Nullable
    String trouble() {
        String blocked = copies.blocked();
        return blocked == null ? trouble : "The broker takes no messages now: " + blocked;
    }

    void abortIfStuck() {
        copies.abortIfStuck();
    }

    /** Settles the message now, or later by a thread of its own. */
    void settle(Arrival arrival, Outcome outcome) {
        switch (outcome.kind()) {
            case HANDLED -> {
                counts.handled.increment();
                done(arrival);
            }
            case DUPLICATE -> {
                counts.duplicates.increment();
                LOG.log(Level.DEBUG, "Handled before, skipped {0}", arrival.describe(queue, consumer));
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
        LOG.log(Level.WARNING, "Put off, not counted " + arrival.describe(queue, consumer) + ": " + outcome.reason());
        later(arrival, longer(outcome.delay(), putOffDelay()), () -> runAgain(arrival));
    }

    /**
     * Here, rather than by way of the queue, unless that is wanted: a quorum queue counts what it gets back, and
     * gives it
     * up at its delivery limit.
     */
    private boolean runAgain(Arrival arrival) {
        if (closing || requeues != null || !arrival.isOurs()) {
            arrival.requeue();
            return true;
        }
        again.accept(arrival);
        return false;
    }

    /** Doubles while nothing succeeds. */
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
                    .expiration(null) // a dead letter waits for a person
                    .build();
            return replace(arrival, deadLetterExchange, deadLetterKey, properties, counts.deadLettered);
        });
    }

    /** How the message was published in the first place, which its copies tell. */
    private static Map<String, Object> origin(Arrival arrival) {
        Map<String, Object> headers = new HashMap<>();
        if (!MessageHeaders.of(arrival.properties()).containsKey(MessageHeaders.EXCHANGE)) {
            headers.put(MessageHeaders.EXCHANGE, arrival.envelope().getExchange());
            headers.put(MessageHeaders.ROUTING_KEY, arrival.envelope().getRoutingKey());
        }
        return headers;
    }

    /** Courier thread. A copy of a message that is no longer ours would only be one more. */
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
            LOG.log(Level.WARNING, "No copy " + arrival.describe(queue, consumer) + ": " + why);
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

    /** What is to happen to a message that is held; answers whether the message is over with it. */
    private interface Step {
        boolean run();
    }

    private static final class Held {

        final Arrival arrival;
        final Step step;
        final boolean lacksCopy; // whether it is held because its copy failed
        volatile @Nullable Future<?> timer; // written by who holds it

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
        } catch (RejectedExecutionException e) { // closed: the end of the subscription gives it back
            forget(entry);
        }
        if (closing) {
            flush();
        }
    }

    /** Courier thread. Only the first call for an entry has an effect. */
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
            isOver = !giveBackLater(entry.arrival);
        } finally {
            if (isOver) {
                inFlight.end();
            }
            clearTrouble();
        }
    }

    /** What fails so would fail again at once. Answers whether it is held. */
    private boolean giveBackLater(Arrival arrival) {
        Step giveBack = () -> {
            arrival.requeue();
            return true;
        };
        if (closing) {
            giveBack.run();
            return false;
        }
        later(arrival, putOffDelay(), giveBack);
        return true;
    }

    private void clearTrouble() {
        if (trouble != null && held.stream().noneMatch(entry -> entry.lacksCopy)) {
            trouble = null;
        }
    }

    /** Forgets messages whose subscription has ended: others have them by now. */
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

    /** Lets nothing wait for its time any more. */
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

    /** The broker ends a channel that keeps a message for long. */
    private static Duration longer(Duration asked, Duration ours) {
        Duration delay = asked.compareTo(ours) > 0 ? asked : ours;
        return delay.compareTo(LONGEST_DELAY) > 0 ? LONGEST_DELAY : delay;
    }
}
