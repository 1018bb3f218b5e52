package outbox.cli;

import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.GetResponse;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import outbox.testing.fault.ChildJvm;
import outbox.testing.server.PostgresServer;
import outbox.testing.server.RabbitServer;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** The relay process with RabbitMQ as destination. */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("process")
@Tag("rabbitmq")
class RelayToRabbitTest {

    private static final Duration LONG = Duration.ofSeconds(60);

    private final Shop shop = Shop.at(PostgresServer.shared().createDatabase());

    @Test
    void events_arrive_in_the_exchange_by_their_type(@TempDir Path directory) throws Exception {
        RabbitServer server = RabbitServer.shared();
        String uri = server.uri(server.createVirtualHost());
        ConnectionFactory factory = new ConnectionFactory();
        factory.setUri(uri);
        Path config = directory.resolve("relay.properties");
        Files.writeString(config, "OUTBOX_AMQP_URI=" + uri + "\n");
        try (Connection connection = factory.newConnection();
                Channel channel = connection.createChannel()) {
            channel.exchangeDeclare("shop.events", BuiltinExchangeType.TOPIC, true);
            channel.queueDeclare("orders", true, false, false, null);
            channel.queueBind("orders", "shop.events", "order.*");
            String id = shop.write("order.paid");
            try (ChildJvm relay = ChildJvm.of(Main.class)
                    .jvmOptions("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                    .arguments(
                            "relay",
                            "--url",
                            shop.url(),
                            "--tables",
                            "outbox_event",
                            "--bind",
                            "127.0.0.1:0",
                            "--transport",
                            "rabbitmq",
                            "--config",
                            config.toString(),
                            "--amqp-exchange",
                            "shop.events")
                    .start()) {
                GetResponse message = await().atMost(LONG)
                        .until(() -> Optional.ofNullable(channel.basicGet("orders", true)), Optional::isPresent)
                        .orElseThrow();

                assertThat(message.getProps().getMessageId()).isEqualTo(id);
                assertThat(message.getEnvelope().getRoutingKey()).isEqualTo("order.paid");
                await().atMost(LONG).until(() -> shop.statusOf(id) == 1);
                relay.terminate();
                assertThat(relay.waitFor(LONG)).isZero();
            }
        }
    }

    @Test
    void what_it_needs_is_told_and_a_password_in_an_argument_is_refused() {
        Run missing = Shop.run(shop.url(), "relay", "--tables", "outbox_event", "--transport", "rabbitmq");
        Run password = Shop.run(
                shop.url(),
                "relay",
                "--tables",
                "outbox_event",
                "--transport",
                "rabbitmq",
                "--amqp-exchange",
                "e",
                "--amqp-uri",
                "amqp://ada:hush@127.0.0.1:1/v");

        assertThat(missing.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(missing.err()).contains("OUTBOX_AMQP_URI is missing", "OUTBOX_AMQP_EXCHANGE is missing");
        assertThat(password.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(password.err())
                .contains("--amqp-uri must not hold a password")
                .doesNotContain("hush");
    }
}
