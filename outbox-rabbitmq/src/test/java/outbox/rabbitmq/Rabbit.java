package outbox.rabbitmq;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.GetResponse;
import outbox.testing.server.RabbitServer;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A virtual host of a real node, and a client to inspect its queues. */
final class Rabbit implements AutoCloseable {
    private final RabbitServer server;
    private final String virtualHost;

    Rabbit(RabbitServer server) {
        this.server = server;
        virtualHost = server.createVirtualHost();
    }

    static Rabbit shared() {
        return new Rabbit(RabbitServer.shared());
    }

    RabbitServer server() {
        return server;
    }

    String virtualHost() {
        return virtualHost;
    }

    ConnectionFactory factory() {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setHost("127.0.0.1");
        factory.setPort(server.port());
        factory.setVirtualHost(virtualHost);
        return factory;
    }

    interface Work<T> {
        T on(Channel channel) throws Exception;
    }

    /** Runs the work on a new connection. */
    <T> T call(Work<T> work) {
        try (Connection connection = factory().newConnection();
                Channel channel = connection.createChannel()) {
            return work.on(channel);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    void topology(RabbitTopology topology) {
        call(channel -> {
            topology.declare(channel.getConnection());
            return true;
        });
    }

    /** Removes and returns all messages of a queue. */
    List<GetResponse> drain(String queue) {
        return call(channel -> drain(channel, queue));
    }

    private static List<GetResponse> drain(Channel channel, String queue) throws IOException {
        List<GetResponse> all = new ArrayList<>();
        for (GetResponse got = channel.basicGet(queue, true); got != null; got = channel.basicGet(queue, true)) {
            all.add(got);
        }
        return all;
    }

    List<String> drainIds(String queue) {
        return drain(queue).stream().map(got -> got.getProps().getMessageId()).toList();
    }

    @Override
    public void close() {
        // The virtual host is deleted with the node.
    }
}
