package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;

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

/**
 * Settles messages after their run. What is handled is acked. What failed is held for a while, unacked, and then published again to its queue with a higher count; what failed too often or can
 * never be handled is published to the dead-letter exchange with the reason. In both cases the original is acked after the copy was confirmed, so a crash at any point leaves one of
 * them at least, and the inbox takes care of two. If there is no copy, the original goes back to its place.
 *
 * <p>Threads: workers call settle; one thread of its own does everything that waits.
 */
final class Settlement {

    private static final Logger LOG = System.getLogger(Settlement.class.getName());
    private static final Clock CLOCK = Clock.systemUTC(); // only told to people
    private static final Duration LONGEST_DELAY = Duration.ofMinutes(1);
    private static final Duration LONGEST_PUT_OFF = Duration.ofSeconds(30);
    private static final Duration SHORTEST_PUT_OFF = Duration.ofSeconds(1);
    private static final int MAX_DOUBLINGS = 20;

    private final String queue;
    private final String consumer;
    private final int maxRedeliveries;
    private final Duration redeliveryDelay;
    private final String deadLetterExchange;
    private final String deadLetterKey;
    private final ConsumerCounts counts;
    private final InFlight inFlight;
    private final CopyPublisher copies;
    private final ScheduledThreadPoolExecutor courier;
    private final Set<Held> held =
            ConcurrentHashMap.newKeySet(); // until their time comes; whoever removes one, ends it
    private final AtomicInteger putOffInRow = new AtomicInteger();
    private volatile boolean closing;
    private volatile @Nullable String trouble; // of the last copy; courier writes

    Settlement(RabbitConsumer.Builder settings, ConnectionFactory factory, ConsumerCounts counts, InFlight inFlight) {
        queue = settings.required("queue", settings.queue);
        consumer = settings.required("consumer", settings.consumer);
        maxRedeliveries = settings.maxRedeliveries;
        redeliveryDelay = settings.redeliveryDelay;
        deadLetterExchange = settings.required("deadLetter", settings.deadLetterExchange);
        deadLetterKey = settings.required("deadLetter", settings.deadLetterKey);
        this.counts = counts;
        this.inFlight = inFlight;
        copies = new CopyPublisher(factory, consumer);
        courier = new ScheduledThreadPoolExecutor(1, ConsumerThreads.named(consumer, "courier"));
        courier.setRemoveOnCancelPolicy(true);
        courier.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    @Nullable
    String trouble() {
        return trouble;
    }

    void abortIfStuck() {
        copies.abortIfStuck();
    }

    /** Settles the message now, or later by a thread of its own. */
    void settle(Arrival arrival, Outcome outcome) {
        switch (outcome.kind()) {
            case HANDLED -> {
                putOffInRow.set(0);
                counts.handled.increment();
                arrival.ack();
                inFlight.end();
            }
            case DUPLICATE -> {
                putOffInRow.set(0);
                counts.duplicates.increment();
                LOG.log(Level.DEBUG, "Handled before, skipped {0}", arrival.describe(queue, consumer));
                arrival.ack();
                inFlight.end();
            }
            case PUT_OFF -> putOff(arrival, outcome);
            case FAILED -> {
                int redeliveries = MessageHeaders.number(arrival.properties(), MessageHeaders.REDELIVERIES);
                if (redeliveries >= maxRedeliveries) {
                    deadLetter(arrival, outcome.deadAfter(redeliveries));
                } else {
                    redeliver(arrival, outcome, redeliveries);
                }
            }
            case DEAD -> deadLetter(arrival, outcome);
        }
    }

    private void putOff(Arrival arrival, Outcome outcome) {
        counts.putOff.increment();
        LOG.log(Level.WARNING, "Put off, not counted " + arrival.describe(queue, consumer) + ": " + outcome.reason());
        later(arrival, longer(outcome.delay(), putOffDelay()), () -> giveBack(arrival));
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
            trouble = null;
            count.increment();
            arrival.ack();
            return true;
        } catch (CopyPublisher.NotPublishedException e) {
            trouble = e.getMessage();
            LOG.log(Level.WARNING, "No copy " + arrival.describe(queue, consumer) + ": " + e.getMessage());
            if (e.isForbidden() && !exchange.isEmpty()) {
                count.increment();
                arrival.reject(); // the broker may do what its user may not, though it cannot tell the reason
            } else if (closing) {
                arrival.requeue();
            } else {
                later(arrival, putOffDelay(), () -> giveBack(arrival));
                return false;
            }
            return true;
        }
    }

    private static boolean giveBack(Arrival arrival) {
        arrival.requeue();
        return true;
    }

    /** What is to happen to a message that is held; answers whether the message is over with it. */
    private interface Step {
        boolean run();
    }

    private static final class Held {

        final Arrival arrival;
        final Step step;
        volatile @Nullable Future<?> timer; // written by who holds it

        Held(Arrival arrival, Step step) {
            this.arrival = arrival;
            this.step = step;
        }
    }

    private void later(Arrival arrival, Duration delay, Step step) {
        Held entry = new Held(arrival, step);
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
        if (!held.remove(entry)) {
            return;
        }
        boolean isOver = true;
        try {
            isOver = entry.step.run();
        } catch (RuntimeException | Error e) {
            LOG.log(Level.ERROR, "A message could not be settled " + entry.arrival.describe(queue, consumer), e);
            entry.arrival.requeue();
        } finally {
            if (isOver) {
                inFlight.end();
            }
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
