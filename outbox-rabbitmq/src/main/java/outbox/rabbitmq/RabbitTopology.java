package outbox.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ShutdownSignalException;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The durable exchanges, queues and bindings of an application. Immutable. It may be declared repeatedly and
 * concurrently.
 */
public final class RabbitTopology {

    private static final int NOT_FOUND = 404;

    /** One declaration call of the client. */
    private interface Declaration {
        void on(Channel channel) throws IOException;
    }

    private record Part(String what, Declaration lookUp, Declaration declare) {}

    private record NamedBinding(String what, Declaration declare) {}

    private final List<Part> parts = new ArrayList<>(); // not changed after the constructor
    private final List<NamedBinding> bindings = new ArrayList<>(); // not changed after the constructor

    private RabbitTopology(Builder builder) {
        builder.exchanges.forEach((name, type) -> parts.add(new Part(
                "exchange '" + name + "'",
                channel -> channel.exchangeDeclarePassive(name),
                channel -> channel.exchangeDeclare(name, type, true))));
        builder.queues
                .values()
                .forEach(queue -> parts.add(new Part(
                        "queue '" + queue.name() + "'",
                        channel -> channel.queueDeclarePassive(queue.name()),
                        channel -> channel.queueDeclare(queue.name(), true, false, false, queue.arguments()))));
        builder.bindings.forEach(binding -> bindings.add(new NamedBinding(
                "binding of queue '" + binding.queue + "' to exchange '" + binding.exchange + "' by '"
                        + binding.routingKey + "'",
                channel -> channel.queueBind(binding.queue, binding.exchange, binding.routingKey))));
    }

    public static Builder builder() {
        return new Builder();
    }

    /**
     * Checks all exchanges and queues, then creates the missing ones, then creates the bindings. Never changes or
     * deletes anything that exists.
     *
     * @throws RabbitTopologyException if an exchange or queue exists with other settings (then nothing was created),
     *     or if the broker refuses a later declaration, such as a binding to a missing exchange
     */
    public void declare(Connection connection) throws IOException {
        List<String> differences = new ArrayList<>();
        List<String> created = new ArrayList<>();
        List<Part> missing = new ArrayList<>();
        for (Part part : parts) {
            if (isMissing(connection, part)) {
                missing.add(part);
            } else {
                attempt(connection, part.what, part.declare, differences); // the broker only compares the settings
            }
        }
        refuse(differences, created);
        for (Part part : missing) {
            // fails if another process just created it with other settings
            if (attempt(connection, part.what, part.declare, differences)) {
                created.add(part.what);
            }
        }
        refuse(differences, created);
        for (NamedBinding binding : bindings) {
            attempt(connection, binding.what, binding.declare, differences);
        }
        refuse(differences, created);
    }

    private static void refuse(List<String> differences, List<String> created) {
        if (!differences.isEmpty()) {
            throw new RabbitTopologyException(differences, created);
        }
    }

    private static boolean isMissing(Connection connection, Part part) throws IOException {
        try {
            onOwnChannel(connection, part.lookUp);
            return false;
        } catch (IOException e) {
            AMQP.Channel.Close refusal = refusalOf(e);
            return refusal.getReplyCode() == NOT_FOUND; // the declaration reports any other error
        }
    }

    private static boolean attempt(
            Connection connection, String what, Declaration declaration, List<String> differences) throws IOException {
        try {
            onOwnChannel(connection, declaration);
            return true;
        } catch (IOException e) {
            differences.add(what + ": " + refusalOf(e).getReplyText());
            return false;
        }
    }

    /** Uses a new channel, because a refusal closes the channel. */
    private static void onOwnChannel(Connection connection, Declaration declaration) throws IOException {
        Channel channel = connection.createChannel();
        if (channel == null) {
            throw new IOException("The broker does not allow another channel");
        }
        try {
            declaration.on(channel);
        } finally {
            channel.abort();
        }
    }

    /** Returns the reply of the broker. Throws the exception itself if the broker did not reply to the declaration. */
    private static AMQP.Channel.Close refusalOf(IOException e) throws IOException {
        if (e.getCause() instanceof ShutdownSignalException signal
                && signal.getReason() instanceof AMQP.Channel.Close close) {
            return close;
        }
        throw e;
    }

    /** Builds a topology. Refuses definitions that are wrong in themselves. */
    public static final class Builder {

        private record Binding(String queue, String exchange, String routingKey) {}

        private final Map<String, BuiltinExchangeType> exchanges = new LinkedHashMap<>();
        private final Map<String, RabbitQueue> queues = new LinkedHashMap<>();
        private final List<Binding> bindings = new ArrayList<>();

        private Builder() {}

        public Builder exchange(String name, BuiltinExchangeType type) {
            if (name.isBlank()) {
                throw new IllegalArgumentException("An exchange needs a name; the default exchange is always there");
            }
            Objects.requireNonNull(type, "type");
            if (exchanges.putIfAbsent(RabbitRoute.check("exchange", name), type) != null) {
                throw new IllegalArgumentException("Exchange " + name + " is described twice");
            }
            return this;
        }

        public Builder topicExchange(String name) {
            return exchange(name, BuiltinExchangeType.TOPIC);
        }

        public Builder queue(RabbitQueue queue) {
            if (queues.putIfAbsent(queue.name(), queue) != null) {
                throw new IllegalArgumentException("Queue " + queue.name() + " is described twice");
            }
            return this;
        }

        /** Binds a queue of this topology to an exchange, which may be declared elsewhere. */
        public Builder bind(String queue, String exchange, String routingKey) {
            if (!queues.containsKey(queue)) {
                throw new IllegalArgumentException("There is no queue " + queue + " to bind; describe it first");
            }
            bindings.add(new Binding(
                    queue, RabbitRoute.check("exchange", exchange), RabbitRoute.check("routingKey", routingKey)));
            return this;
        }

        /** Adds the exchanges and queues of a delay. */
        public Builder delay(RabbitDelay delay) {
            delay.addTo(this);
            return this;
        }

        public RabbitTopology build() {
            return new RabbitTopology(this);
        }
    }
}
