package outbox.rabbitmq;

import com.rabbitmq.client.AddressResolver;
import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import outbox.AsyncEventListener;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.dispatch.CircuitBreaker;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Publishes each event to RabbitMQ as a persistent and {@code mandatory} message. An event is delivered when the
 * broker has confirmed the message and has not returned it. Thread-safe; registered like any listener.
 *
 * <p>If the broker refuses a message, the attempt of that event fails ({@link PublishRefusedException}). Failures
 * that are not caused by the event consume no attempt: there is no connection, an alarm blocks it, it ends before the
 * confirm, or the confirm is late. Then the event is postponed and may be published twice ({@link
 * Builder#countOutages} counts these failures). While the broker cannot be used, an event is postponed after one
 * second.
 *
 * <p>The transport keeps one connection and reconnects when it ends. Close the dispatcher first, then the transport.
 */
public final class RabbitTransport implements AsyncEventListener, AutoCloseable {

    private static final Logger LOG = SafeLogger.of(RabbitTransport.class);
    // how long events wait for an unusable broker
    private static final long PATIENCE_NANOS = Duration.ofSeconds(1).toNanos();
    private static final long LOOK_MILLIS = 100;

    private final String name;
    private final int maxInFlight;
    private final long confirmNanos;
    private final Duration confirmTimeout;
    private final Duration drainTime;
    private final Function<EventEnvelope, @Nullable RabbitRoute> route;
    private final MessageFormat format;
    private final boolean countOutages;
    private final @Nullable CircuitBreaker breaker;
    private final TransportThreads threads;
    private final Broker broker;
    private final List<Lane> lanes;
    private final AtomicInteger turn = new AtomicInteger();
    private final AtomicBoolean closed = new AtomicBoolean();
    private final Set<Publish> inFlight = ConcurrentHashMap.newKeySet();

    private RabbitTransport(Builder settings, ConnectionFactory factory) {
        name = settings.name;
        maxInFlight = settings.maxInFlight;
        confirmTimeout = settings.confirmTimeout;
        confirmNanos = confirmTimeout.toNanos();
        drainTime = settings.drainTime;
        route = settings.checkedRoute();
        format = settings.format;
        countOutages = settings.countOutages;
        breaker = settings.breaker;
        threads = new TransportThreads(name);
        broker = new Broker(name, factory, settings.addresses, threads, settings.stuck, this::openBreaker);
        lanes = Stream.generate(() -> new Lane(broker, confirmTimeout, maxInFlight, threads))
                .limit(settings.channels)
                .toList();
    }

    private void start() {
        try {
            broker.start();
        } catch (RuntimeException | Error e) {
            threads.close();
            throw e;
        }
        lanes.forEach(Lane::start);
        threads.timer().scheduleWithFixedDelay(this::look, LOOK_MILLIS, LOOK_MILLIS, TimeUnit.MILLISECONDS);
    }

    public static Builder builder() {
        return new Builder();
    }

    @Override
    public String listenerName() {
        return name;
    }

    @Override
    public int maxInFlight() {
        return maxInFlight;
    }

    @Override
    public CompletionStage<?> onEventAsync(EventEnvelope event) {
        return publish(event, route);
    }

    /**
     * Prevents the sending of an event that was not handed to a channel yet, so that its dispatcher may release it.
     */
    @Override
    public boolean withdraw(EventEnvelope event) {
        List<Publish> own = inFlight.stream()
                .filter(publish -> publish.eventId().equals(event.eventId()))
                .toList();
        return !own.isEmpty() && own.stream().allMatch(Publish::withdraw);
    }

    /**
     * Returns a listener with the same name that uses the connection and limits of this transport, but takes routes
     * from the given function. Use it for several outboxes, or for routes that depend on more than the event.
     */
    public AsyncEventListener routed(Function<EventEnvelope, @Nullable RabbitRoute> ways) {
        return new RoutedListener(this, Objects.requireNonNull(ways, "ways"));
    }

    CompletionStage<?> publish(EventEnvelope event, Function<EventEnvelope, @Nullable RabbitRoute> ways) {
        RabbitRoute where = ways.apply(event);
        if (where == null) {
            throw new GiveUpException("No route for event " + event.eventId() + " (type " + event.eventType()
                    + ") to RabbitMQ. Make the route function return a route for it, then replay the event.");
        }
        RabbitMessage message = format.messageOf(event).identifiedBy(event.eventId());
        Publish publish = new Publish(event, where, message, threads.ends(), countOutages, System.nanoTime());
        inFlight.add(publish); // before closed is read: either close() sees the event or this code sees the close
        publish.stage().whenComplete((delivered, failure) -> inFlight.remove(publish));
        if (closed.get()) {
            publish.putOff(closedText());
        } else if (!laneOf(event).offer(publish)) {
            publish.putOff("RabbitMQ transport " + name + " has " + maxInFlight + " events waiting already");
        }
        return publish.stage();
    }

    /**
     * Returns the lane of an event. Events of one aggregate use the same channel, so the broker receives them in
     * order.
     */
    private Lane laneOf(EventEnvelope event) {
        String id = event.aggregateId();
        int number = id == null ? turn.getAndIncrement() : Objects.hash(event.aggregateType(), id);
        return lanes.get(Math.floorMod(number, lanes.size()));
    }

    private void look() {
        try {
            putOffLate();
        } catch (RuntimeException | Error e) { // for example from the clock of a breaker; the task must run again
            LOG.log(Level.ERROR, "RabbitMQ transport " + name + " could not check its waiting events", e);
        }
    }

    private void putOffLate() {
        long now = System.nanoTime();
        boolean usable = broker.usable() != null;
        String trouble = null;
        for (Publish publish : inFlight) {
            if (publish.isEnded()) {
                continue;
            }
            if (publish.ageNanos(now) > confirmNanos) {
                trouble = "did not confirm within " + confirmTimeout;
                publish.outage("RabbitMQ at " + broker.where() + " " + trouble);
            } else if (!usable && !publish.isSent() && publish.ageNanos(now) > PATIENCE_NANOS) {
                trouble = broker.trouble();
                publish.outage("RabbitMQ at " + broker.where() + " " + trouble);
            }
        }
        if (trouble != null) {
            openBreaker(trouble); // last, because the breaker runs user code
        }
    }

    private void openBreaker(String why) {
        if (breaker != null && breaker.state() != CircuitBreaker.State.OPEN) {
            breaker.open("RabbitMQ at " + broker.where() + " " + why);
        }
    }

    /** Returns the current state without a request to the broker. */
    public RabbitHealth health() {
        long now = System.nanoTime();
        long oldest = inFlight.stream()
                .mapToLong(publish -> publish.ageNanos(now))
                .max()
                .orElse(0);
        boolean connected = !closed.get() && broker.isConnected();
        return new RabbitHealth(
                connected,
                connected ? broker.blocked() : null,
                inFlight.size(),
                Duration.ofNanos(Math.max(0, oldest)),
                closed.get() ? closedText() : connected ? null : broker.trouble());
    }

    private String closedText() {
        return "RabbitMQ transport " + name + " is closed";
    }

    /**
     * Waits for events in flight, up to the drain time, postpones the others, and ends the threads and the
     * connection. A second call returns at once.
     */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        drain();
        inFlight.forEach(publish -> publish.putOff(closedText()));
        lanes.forEach(Lane::stop);
        broker.close();
        threads.close();
    }

    private void drain() {
        try {
            CompletableFuture.allOf(inFlight.stream().map(Publish::stage).toArray(CompletableFuture<?>[]::new))
                    .get(drainTime.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            return; // the dispatcher gets each result; close postpones the remaining events
        }
    }

    @Override
    public String toString() {
        return "RabbitTransport[" + name + ", " + broker.where() + ", " + inFlight.size() + " in flight]";
    }

    /** Builds a transport. Every setter refuses a wrong value. */
    public static final class Builder {

        private static final Duration LONGEST = Duration.ofMinutes(10);

        private String name = "rabbitmq";
        private @Nullable ConnectionFactory factory;
        private @Nullable AddressResolver addresses;
        private @Nullable String exchange;
        private @Nullable Function<EventEnvelope, @Nullable RabbitRoute> route;
        private @Nullable Function<EventEnvelope, String> routingKey;
        private MessageFormat format = MessageFormat.CONTRACT;
        private int channels = 1;
        private int maxInFlight = 512;
        private Duration confirmTimeout = Duration.ofSeconds(30);
        private Duration drainTime = Duration.ofSeconds(10);
        private Duration stuck = Duration.ofSeconds(20);
        private boolean countOutages;
        private @Nullable CircuitBreaker breaker;

        private Builder() {}

        /** The listener name for rules, limits and pauses; default {@code rabbitmq}. */
        public Builder name(String name) {
            if (name.isBlank()) {
                throw new IllegalArgumentException("name must not be blank");
            }
            this.name = name;
            return this;
        }

        /**
         * Required: the connection settings; the factory is copied. Automatic recovery is disabled and blocking I/O
         * is used. Longer time limits are reduced: 5 seconds to connect and for the handshake, 10 seconds for the
         * heartbeat.
         */
        public Builder connectionFactory(ConnectionFactory factory) {
            this.factory = factory.clone();
            return this;
        }

        /**
         * The nodes of the broker. Each connection asks for the addresses and connects to one of them. Default: host
         * and port of the connection factory.
         */
        public Builder addresses(AddressResolver addresses) {
            this.addresses = Objects.requireNonNull(addresses, "addresses");
            return this;
        }

        /** Publishes all events to this exchange, with {@link #routingKey}. Set this or {@link #route}. */
        public Builder exchange(String exchange) {
            this.exchange = RabbitRoute.check("exchange", exchange);
            return this;
        }

        /**
         * Returns the route of an event. Null means no route, and the event is DEAD at once. An exception is a failed
         * attempt.
         */
        public Builder route(Function<EventEnvelope, @Nullable RabbitRoute> route) {
            this.route = Objects.requireNonNull(route, "route");
            return this;
        }

        /** The routing key, used with {@link #exchange}; default: the event type. */
        public Builder routingKey(Function<EventEnvelope, String> routingKey) {
            this.routingKey = Objects.requireNonNull(routingKey, "routingKey");
            return this;
        }

        /** The message format; default {@link MessageFormat#CONTRACT}. */
        public Builder format(MessageFormat format) {
            this.format = Objects.requireNonNull(format, "format");
            return this;
        }

        /**
         * The number of channels, each with its own thread, 1 to 64; default 1. Events of one aggregate use the same
         * channel.
         */
        public Builder channels(int channels) {
            this.channels = count("channels", channels, 64);
            return this;
        }

        /**
         * The maximum number of events per dispatcher that wait for a confirm, on all channels, 1 to 10,000; default
         * 512.
         */
        public Builder maxInFlight(int maxInFlight) {
            this.maxInFlight = count("maxInFlight", maxInFlight, 10_000);
            return this;
        }

        /**
         * How long an event waits for its confirm before it is postponed; at most 10 minutes, default 30 seconds.
         * Keep it below the {@code listenerTimeLimit} of the dispatcher.
         */
        public Builder confirmTimeout(Duration confirmTimeout) {
            if (confirmTimeout.isZero() || confirmTimeout.isNegative() || confirmTimeout.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException(
                        "confirmTimeout must be positive and at most " + LONGEST + ": " + confirmTimeout);
            }
            this.confirmTimeout = confirmTimeout;
            return this;
        }

        /** How long close waits for events in flight; at most 10 minutes, default 10 seconds. */
        public Builder drainTime(Duration drainTime) {
            if (drainTime.isNegative() || drainTime.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException(
                        "drainTime must not be negative and at most " + LONGEST + ": " + drainTime);
            }
            this.drainTime = drainTime;
            return this;
        }

        /**
         * How long one client call may take while the broker does not block the connection; then the connection is
         * cut. For tests.
         */
        Builder stuck(Duration stuck) {
            this.stuck = stuck;
            return this;
        }

        /**
         * A breaker that the transport opens when the broker cannot be used, so that events stay in the table instead
         * of being postponed one by one. It works only if the dispatcher's {@link outbox.dispatch.Protection} uses it
         * for this listener. Let it {@linkplain CircuitBreaker.Builder#ignore ignore} {@link
         * PublishRefusedException}, which says nothing about the broker.
         */
        public Builder breaker(CircuitBreaker breaker) {
            this.breaker = Objects.requireNonNull(breaker, "breaker");
            return this;
        }

        /**
         * Counts failures caused by the broker, such as no connection or a late confirm, as failed attempts. Then the
         * retry policy sets the delay, and events become DEAD if an outage lasts longer than their attempts. Default:
         * off, because the event does not cause an outage. Cannot be combined with a {@link #breaker}, which keeps
         * events in the table.
         */
        public Builder countOutages(boolean countOutages) {
            this.countOutages = countOutages;
            return this;
        }

        private static int count(String setting, int value, int most) {
            if (value < 1 || value > most) {
                throw new IllegalArgumentException(setting + " must be between 1 and " + most + ": " + value);
            }
            return value;
        }

        private Function<EventEnvelope, @Nullable RabbitRoute> checkedRoute() {
            String fixed = exchange;
            Function<EventEnvelope, String> key = routingKey;
            if (route != null) {
                if (fixed != null || key != null) {
                    throw new IllegalArgumentException("Give either route, or exchange and routingKey");
                }
                return route;
            }
            if (fixed == null) {
                throw new IllegalArgumentException("RabbitMQ transport " + name + " needs an exchange or a route");
            }
            Function<EventEnvelope, String> chosen = key == null ? EventEnvelope::eventType : key;
            return event -> new RabbitRoute(fixed, chosen.apply(event));
        }

        /**
         * Connects. If the broker cannot be reached, the transport tries again in the background.
         *
         * @throws IllegalStateException if the broker does not support publisher confirms or refuses the user
         */
        public RabbitTransport build() {
            if (factory == null) {
                throw new IllegalArgumentException("RabbitMQ transport " + name + " needs a connectionFactory");
            }
            if (countOutages && breaker != null) {
                throw new IllegalArgumentException("RabbitMQ transport " + name
                        + " cannot count outages and use a breaker:"
                        + " the breaker lets no event reach the transport during an outage");
            }
            RabbitTransport transport = new RabbitTransport(this, factory);
            transport.start();
            return transport;
        }
    }
}
