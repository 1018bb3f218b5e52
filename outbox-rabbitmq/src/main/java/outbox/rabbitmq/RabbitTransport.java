package outbox.rabbitmq;

import com.rabbitmq.client.AddressResolver;
import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import outbox.AsyncEventListener;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.dispatch.CircuitBreaker;
import outbox.spi.SafeLogger;

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
 * Publishes each event to RabbitMQ, persistent and {@code mandatory}, and takes the broker's confirm as its word: an event is delivered when it was confirmed and not returned.
 * Thread-safe; registered like any listener.
 *
 * <p>A message that the broker refuses is a failed attempt of its event alone ({@link PublishRefusedException}). What says nothing about the event costs no attempt: no connection, one that is
 * blocked by an alarm or ends before the confirm, a confirm that does not come in time. Then the event is put off,
 * and may be published twice ({@link Builder#countOutages} counts it). It is put off a second after it came if the
 * broker cannot be used.
 *
 * <p>It keeps one connection, and makes a new one when that ends. Close the dispatcher first, then the transport.
 */
public final class RabbitTransport implements AsyncEventListener, AutoCloseable {

    private static final Logger LOG = SafeLogger.of(RabbitTransport.class);
    private static final long PATIENCE_NANOS = Duration.ofSeconds(1).toNanos(); // with a broker that cannot be used
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

    /** An event that was not handed to a channel yet never will be: its dispatcher may release it. */
    @Override
    public boolean withdraw(EventEnvelope event) {
        List<Publish> own = inFlight.stream()
                .filter(publish -> publish.eventId().equals(event.eventId()))
                .toList();
        return !own.isEmpty() && own.stream().allMatch(Publish::withdraw);
    }

    /**
     * A listener by the same name that publishes over this transport, with its connection and its limits, but takes its ways from here. For several outboxes, or registries that know more
     * than the event says.
     */
    public AsyncEventListener routed(Function<EventEnvelope, @Nullable RabbitRoute> ways) {
        return new RoutedListener(this, Objects.requireNonNull(ways, "ways"));
    }

    CompletionStage<?> publish(EventEnvelope event, Function<EventEnvelope, @Nullable RabbitRoute> ways) {
        RabbitRoute where = ways.apply(event);
        if (where == null) {
            throw new GiveUpException("No route for event " + event.eventId() + " (type " + event.eventType()
                    + ") to RabbitMQ. Make the route function answer for it, then replay it.");
        }
        RabbitMessage message = format.messageOf(event).identifiedBy(event.eventId());
        Publish publish = new Publish(event, where, message, threads.ends(), countOutages, System.nanoTime());
        inFlight.add(publish); // before the look at closed, so that a close sees it or it sees the close
        publish.stage().whenComplete((delivered, failure) -> inFlight.remove(publish));
        if (closed.get()) {
            publish.putOff(closedText());
        } else if (!laneOf(event).offer(publish)) {
            publish.putOff("RabbitMQ transport " + name + " has " + maxInFlight + " events waiting already");
        }
        return publish.stage();
    }

    /** Events of an aggregate share a channel, so that the broker gets them in their order. */
    private Lane laneOf(EventEnvelope event) {
        String id = event.aggregateId();
        int number = id == null ? turn.getAndIncrement() : Objects.hash(event.aggregateType(), id);
        return lanes.get(Math.floorMod(number, lanes.size()));
    }

    private void look() {
        try {
            putOffLate();
        } catch (RuntimeException | Error e) { // such as of a breaker's clock; the next look must come
            LOG.log(Level.ERROR, "RabbitMQ transport " + name + " could not look after its events", e);
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
            openBreaker(trouble); // last: its clock is the code of others
        }
    }

    private void openBreaker(String why) {
        if (breaker != null && breaker.state() != CircuitBreaker.State.OPEN) {
            breaker.open("RabbitMQ at " + broker.where() + " " + why);
        }
    }

    /** What the transport knows at this moment; asks nobody. */
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

    /** Waits for what is in flight, up to the drain time; puts the rest off; ends its threads and its connection. A second call returns at once. */
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
            return; // how each ended, its dispatcher knows; what has not is put off
        }
    }

    @Override
    public String toString() {
        return "RabbitTransport[" + name + ", " + broker.where() + ", " + inFlight.size() + " in flight]";
    }

    /** Collects the settings of a transport; every setter refuses a wrong value. */
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

        /** By which rules, limits and pauses know it as a listener; default {@code rabbitmq}. */
        public Builder name(String name) {
            if (name.isBlank()) {
                throw new IllegalArgumentException("name must not be blank");
            }
            this.name = name;
            return this;
        }

        /**
         * Where the broker is. Required; copied. The client's recovery is switched off and blocking I/O used; limits for connecting, handshake (5 seconds) and heartbeat (10 seconds) are
         * lowered to these if they are longer.
         */
        public Builder connectionFactory(ConnectionFactory factory) {
            this.factory = factory.clone();
            return this;
        }

        /** The nodes of the broker, asked for with each connection, which is made to one of them; default: host and port of the connection factory. */
        public Builder addresses(AddressResolver addresses) {
            this.addresses = Objects.requireNonNull(addresses, "addresses");
            return this;
        }

        /** Publishes everything to this exchange, by {@link #routingKey}. This or {@link #route}. */
        public Builder exchange(String exchange) {
            this.exchange = RabbitRoute.check("exchange", exchange);
            return this;
        }

        /** Where an event goes to. Null is no route: the event is dead at once. What it throws is a failed attempt. */
        public Builder route(Function<EventEnvelope, @Nullable RabbitRoute> route) {
            this.route = Objects.requireNonNull(route, "route");
            return this;
        }

        /** With {@link #exchange}; default: the event type. */
        public Builder routingKey(Function<EventEnvelope, String> routingKey) {
            this.routingKey = Objects.requireNonNull(routingKey, "routingKey");
            return this;
        }

        /** Default {@link MessageFormat#CONTRACT}. */
        public Builder format(MessageFormat format) {
            this.format = Objects.requireNonNull(format, "format");
            return this;
        }

        /** How many channels, with a thread each, share the work; events of an aggregate stay on one. 1, the default, to 64. */
        public Builder channels(int channels) {
            this.channels = count("channels", channels, 64);
            return this;
        }

        /** How many events wait for the broker's word at a time for one dispatcher, on all channels together; 1 to 10,000, default 512. */
        public Builder maxInFlight(int maxInFlight) {
            this.maxInFlight = count("maxInFlight", maxInFlight, 10_000);
            return this;
        }

        /** How long an event waits for the broker's word before it is put off; at most 10 minutes, default 30 seconds. Keep it below the dispatcher's {@code listenerTimeLimit}. */
        public Builder confirmTimeout(Duration confirmTimeout) {
            if (confirmTimeout.isZero() || confirmTimeout.isNegative() || confirmTimeout.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException(
                        "confirmTimeout must be positive and at most " + LONGEST + ": " + confirmTimeout);
            }
            this.confirmTimeout = confirmTimeout;
            return this;
        }

        /** How long a close waits for what is in flight; at most 10 minutes, default 10 seconds. */
        public Builder drainTime(Duration drainTime) {
            if (drainTime.isNegative() || drainTime.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException(
                        "drainTime must not be negative and at most " + LONGEST + ": " + drainTime);
            }
            this.drainTime = drainTime;
            return this;
        }

        /** How long one call of the client may last while the broker does not block the connection; then that is cut. For tests. */
        Builder stuck(Duration stuck) {
            this.stuck = stuck;
            return this;
        }

        /**
         * Opened when the broker cannot be used, so that events stay in the table meanwhile instead of being put off one by one. It has an effect if the dispatcher's
         * {@link outbox.dispatch.Protection} has it for this listener. Let it {@linkplain CircuitBreaker.Builder#ignore ignore} {@link PublishRefusedException}, which says nothing about the broker.
         */
        public Builder breaker(CircuitBreaker breaker) {
            this.breaker = Objects.requireNonNull(breaker, "breaker");
            return this;
        }

        /**
         * Counts what fails because of the broker, such as no connection or no confirm in time, as a failed attempt
         * of the event: the retry policy says when it is tried again, and an outage that
         * lasts longer than the attempts makes events dead. Off by default, since an outage is not the fault of the
         * event. Not with a {@link #breaker}, which keeps events in the table meanwhile.
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
         * Connects, and goes on trying in the background if the broker cannot be reached.
         *
         * @throws IllegalStateException if the broker has no publisher confirms or refuses the user
         */
        public RabbitTransport build() {
            if (factory == null) {
                throw new IllegalArgumentException("RabbitMQ transport " + name + " needs a connectionFactory");
            }
            if (countOutages && breaker != null) {
                throw new IllegalArgumentException("RabbitMQ transport " + name
                        + " cannot count outages behind a breaker, which lets no event come to it during one");
            }
            RabbitTransport transport = new RabbitTransport(this, factory);
            transport.start();
            return transport;
        }
    }
}
