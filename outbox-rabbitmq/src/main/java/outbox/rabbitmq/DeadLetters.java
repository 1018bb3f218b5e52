package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.GetResponse;
import com.rabbitmq.client.ShutdownSignalException;
import org.jspecify.annotations.Nullable;
import outbox.OutboxException;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Lists the messages of a dead-letter queue and replays them to the queues that they came from.
 *
 * <p>AMQP cannot read a message without taking it. During a call no other consumer gets the messages. When the call
 * ends, even with an exception, all messages that were not replayed return to their positions. A call reads at most
 * the {@value #MAX_LOOK} oldest messages. A quorum queue counts each read as a delivery. Each call opens its own
 * connection. Thread-safe.
 */
public final class DeadLetters {

    /** The maximum number of messages that a call reads. */
    public static final int MAX_LOOK = 10_000;

    private static final int MAX_FAILURES = 100;
    private static final int ANSWER_MILLIS = (int) Duration.ofSeconds(10).toMillis();

    /**
     * Headers that a replay removes, so that the message starts again. With its {@code x-death} headers, the broker
     * could detect a dead-letter cycle and drop the message.
     */
    private static final Set<String> PAST = Set.of(
            MessageHeaders.REDELIVERIES,
            MessageHeaders.REASON,
            MessageHeaders.FAILED_AT,
            MessageHeaders.CONSUMER,
            MessageHeaders.QUEUE,
            "x-death",
            "x-first-death-queue",
            "x-first-death-exchange",
            "x-first-death-reason",
            "x-last-death-queue",
            "x-last-death-exchange",
            "x-last-death-reason",
            "x-delivery-count");

    private final ConnectionFactory factory;
    private final String queue;

    private DeadLetters(ConnectionFactory factory, String queue) {
        this.factory = factory.clone();
        this.factory.setAutomaticRecoveryEnabled(false);
        this.factory.setChannelRpcTimeout(ANSWER_MILLIS);
        this.factory.setThreadFactory(ConsumerThreads.named("dead-letters", "client"));
        this.queue = queue;
    }

    /** Returns the dead letters of the given queue. */
    public static DeadLetters of(ConnectionFactory factory, String queue) {
        if (queue.isBlank()) {
            throw new IllegalArgumentException("queue must have a name");
        }
        return new DeadLetters(factory, queue);
    }

    /** Returns the number of messages in the queue that are ready for delivery. */
    public long count() {
        return call(channel -> channel.messageCount(queue));
    }

    /** Returns the oldest matching messages, up to the limit, oldest first. */
    public List<DeadLetter> list(DeadLetterFilter filter, int limit) {
        checkLimit("limit", limit);
        List<DeadLetter> found = new ArrayList<>();
        look(taken -> {
            if (filter.matches(taken.letter())) {
                found.add(taken.letter());
            }
            return found.size() < limit;
        });
        return found;
    }

    /** Returns the details of the oldest message of an event. */
    public Optional<DeadLetterDetails> find(String eventId) {
        Objects.requireNonNull(eventId, "eventId");
        List<DeadLetterDetails> found = new ArrayList<>();
        look(taken -> {
            if (eventId.equals(taken.letter().eventId())) {
                found.add(new DeadLetterDetails(
                        taken.letter(),
                        MessageHeaders.texts(taken.properties()),
                        new String(taken.response().getBody(), StandardCharsets.UTF_8)));
            }
            return found.isEmpty();
        });
        return found.stream().findFirst();
    }

    /**
     * Publishes matching messages to the queues that they came from, and removes each from the dead-letter queue
     * after the broker has confirmed the copy. Other queues that originally received the event do not get it again. A
     * message that becomes a dead letter again during the call is not replayed a second time.
     *
     * <p>If the process dies during the call, at most one message is in both queues. The inbox of the consumer
     * handles the duplicate.
     *
     * @param cap the maximum number of messages, 1 to {@value #MAX_LOOK}
     * @param actor who requests the replay; stored with the reason in headers of the messages
     */
    public DeadLetterReplay replay(DeadLetterFilter filter, int cap, String actor, String reason) {
        checkLimit("cap", cap);
        if (actor.isBlank() || reason.isBlank() || actor.length() > 255 || reason.length() > 1000) {
            throw new IllegalArgumentException(
                    "A replay needs an actor and a reason, of at most 255 and 1000 characters");
        }
        Run run = new Run(filter, cap, actor, reason);
        ScheduledExecutorService watch =
                Executors.newSingleThreadScheduledExecutor(ConsumerThreads.named("dead-letters", "watch"));
        try (CopyPublisher copies = new CopyPublisher(factory, "outbox-dead-letters")) {
            watch.scheduleAtFixedRate(copies::abortIfStuck, 1, 1, TimeUnit.SECONDS);
            look(taken -> run.take(taken, copies));
        } catch (OutboxException e) {
            if (run.replayed == 0) {
                throw e;
            }
            run.end(e);
        } finally {
            watch.shutdownNow();
        }
        return run.result();
    }

    /** One replay. It adds its id to each copy, to recognise copies that return to the dead-letter queue. */
    private final class Run {

        private final String id = UUID.randomUUID().toString();
        private final DeadLetterFilter filter;
        private final int cap;
        private final String actor;
        private final String reason;
        private final List<String> failures = new ArrayList<>();
        private final Set<String> unreachable = new HashSet<>(); // queues that did not accept a copy
        private int replayed;
        private int failed;

        Run(DeadLetterFilter filter, int cap, String actor, String reason) {
            this.filter = filter;
            this.cap = cap;
            this.actor = actor;
            this.reason = reason;
        }

        DeadLetterReplay result() {
            return new DeadLetterReplay(replayed, failures, failed == 0);
        }

        boolean take(Taken taken, CopyPublisher copies) throws IOException {
            DeadLetter letter = taken.letter();
            boolean cameBack = id.equals(MessageHeaders.text(taken.properties(), MessageHeaders.REPLAY_RUN));
            if (cameBack || !filter.matches(letter)) {
                return true;
            }
            String target = letter.queue();
            if (target == null || target.equals(queue)) {
                fail(letter, "The message does not name the queue it came from");
                return true;
            }
            if (unreachable.contains(target)) {
                fail(letter, "Queue " + target + " did not accept an earlier message");
                return true;
            }
            try {
                copies.publish("", target, properties(taken), taken.response().getBody());
            } catch (CopyPublisher.NotPublishedException e) {
                unreachable.add(target);
                fail(letter, String.valueOf(e.getMessage()));
                return true;
            }
            taken.ack();
            replayed++;
            return replayed < cap;
        }

        /** Records why the replay ended early. The caller still gets the number of replayed messages. */
        void end(OutboxException e) {
            failed++;
            failures.add(String.valueOf(e.getMessage()));
        }

        private void fail(DeadLetter letter, String why) {
            failed++;
            if (failures.size() < MAX_FAILURES) {
                failures.add("Event " + letter.eventId() + ": " + why);
            }
        }

        private BasicProperties properties(Taken taken) {
            Map<String, Object> headers = new HashMap<>();
            headers.put(MessageHeaders.REPLAYS, taken.letter().replays() + 1);
            headers.put(MessageHeaders.REPLAYED_BY, actor);
            headers.put(MessageHeaders.REPLAY_REASON, reason);
            headers.put(MessageHeaders.REPLAY_RUN, id);
            return MessageHeaders.copied(taken.properties(), PAST, headers);
        }
    }

    /** A message that was taken with {@code basic.get}. It returns to the queue when the channel closes. */
    private record Taken(Channel channel, GetResponse response, DeadLetter letter) {

        BasicProperties properties() {
            return response.getProps();
        }

        void ack() throws IOException {
            channel.basicAck(response.getEnvelope().getDeliveryTag(), false);
        }
    }

    /** Returns whether to read the next message. */
    private interface Look {
        boolean at(Taken taken) throws IOException;
    }

    /** Reads only the messages that are in the queue at the start of the call; later messages are behind them. */
    private void look(Look look) {
        call(channel -> {
            long most = Math.min(MAX_LOOK, channel.messageCount(queue));
            boolean more = true;
            for (long i = 0; more && i < most; i++) {
                GetResponse response = channel.basicGet(queue, false);
                if (response == null) {
                    return true; // another consumer has the other messages
                }
                DeadLetter letter = DeadLetter.of(response.getEnvelope(), response.getProps(), response.getBody());
                more = look.at(new Taken(channel, response, letter));
            }
            return true;
        });
    }

    private interface Call<T> {
        T on(Channel channel) throws IOException;
    }

    private <T> T call(Call<T> call) {
        try (Connection connection = factory.newConnection("outbox-dead-letters");
                Channel channel = connection.createChannel()) {
            return call.on(channel);
        } catch (IOException | TimeoutException | ShutdownSignalException e) {
            throw new OutboxException("Cannot read queue " + queue + ": " + message(e), e);
        }
    }

    /** Returns the message of the broker, which is in the cause. */
    private static @Nullable String message(Exception e) {
        return e.getCause() instanceof ShutdownSignalException said ? said.getMessage() : e.getMessage();
    }

    private static void checkLimit(String setting, int value) {
        if (value < 1 || value > MAX_LOOK) {
            throw new IllegalArgumentException(setting + " must be between 1 and " + MAX_LOOK + ": " + value);
        }
    }
}
