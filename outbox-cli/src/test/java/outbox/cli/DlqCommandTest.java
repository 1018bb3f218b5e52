package outbox.cli;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.server.RabbitServer;

import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import static org.assertj.core.api.Assertions.assertThat;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("rabbitmq")
class DlqCommandTest {

    private final RabbitServer server = RabbitServer.shared();
    private final String virtualHost = server.createVirtualHost();
    private Connection connection;
    private Channel channel;

    @BeforeEach
    void givenDeadLetters() throws Exception {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setUri(server.uri(virtualHost));
        connection = factory.newConnection();
        channel = connection.createChannel();
        channel.queueDeclare("orders", true, false, false, null);
        channel.queueDeclare("dead", true, false, false, null);
        channel.confirmSelect();
        for (int i = 0; i < 3; i++) {
            publishDead(i, "orders");
        }
    }

    private void publishDead(int i, String queue) throws Exception {
        String body = "{\"eventId\":\"e%d\",\"eventType\":\"ORDER_PAID\",\"payload\":{\"secret\":%d}}".formatted(i, i);
        Map<String, Object> headers = Map.of(
                "x-outbox-reason", "no such order " + i, "x-outbox-queue", queue, "x-outbox-consumer", "billing");
        channel.basicPublish(
                "",
                "dead",
                new BasicProperties.Builder()
                        .messageId("e" + i)
                        .headers(headers)
                        .build(),
                body.getBytes(StandardCharsets.UTF_8));
        channel.waitForConfirmsOrDie(10_000);
    }

    @AfterEach
    void close() throws Exception {
        connection.close();
    }

    private Run run(String... arguments) {
        return run(question -> Optional.empty(), arguments);
    }

    private Run run(Terminal terminal, String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.add(0, "dlq");
        all.addAll(List.of("--queue", "dead"));
        return Run.with(
                Map.of("OUTBOX_AMQP_URI", server.uri(virtualHost)),
                terminal,
                Clock.systemUTC(),
                all.toArray(String[]::new));
    }

    @Test
    void letters_are_listed_and_stay() throws Exception {
        Run run = run("list", "--error", "order 1");

        assertThat(run.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(run.out())
                .contains("e1", "ORDER_PAID", "orders", "no such order 1")
                .doesNotContain("e2", "secret");
        assertThat(run("list", "--json").out()).contains("\"eventId\" : \"e0\"", "\"eventId\" : \"e2\"");
        assertThat(channel.messageCount("dead")).isEqualTo(3);
    }

    @Test
    void a_letter_is_shown_and_its_body_only_if_asked_for() {
        assertThat(run("show", "e1").out())
                .contains("billing", "no such order 1")
                .doesNotContain("secret");
        assertThat(run("show", "e1", "--payload").out()).contains("secret", "x-outbox-consumer");
        assertThat(run("show", "e9").exitCode()).isEqualTo(ExitCode.PROBLEM);
    }

    @Test
    void a_replay_shows_what_and_how_many_and_changes_nothing_unconfirmed() throws Exception {
        Run run = run("replay", "--type", "ORDER_PAID", "--cap", "2", "--reason", "ticket 7");

        assertThat(run.exitCode()).isEqualTo(ExitCode.NOT_CONFIRMED);
        assertThat(run.out())
                .contains("e0", "e1", "Messages: 2, back to orders")
                .doesNotContain("e2");
        assertThat(run("replay", "e1", "--reason", "ticket 7", "--dry-run").exitCode())
                .isEqualTo(ExitCode.OK);
        assertThat(run(question -> Optional.of("no"), "replay", "e1", "--reason", "ticket 7")
                        .exitCode())
                .isEqualTo(ExitCode.NOT_CONFIRMED);
        assertThat(channel.messageCount("dead")).isEqualTo(3);
        assertThat(channel.messageCount("orders")).isZero();
    }

    @Test
    void a_confirmed_replay_happens() throws Exception {
        assertThat(run("replay", "--type", "ORDER_PAID", "--cap", "2", "--reason", "ticket 7", "--yes")
                        .out())
                .contains("Done: 2 messages.");
        assertThat(run(question -> Optional.of("yes"), "replay", "e2", "--reason", "ticket 7")
                        .exitCode())
                .isEqualTo(ExitCode.OK);

        assertThat(channel.messageCount("dead")).isZero();
        assertThat(channel.messageCount("orders")).isEqualTo(3);
        assertThat(channel.basicGet("orders", true).getProps().getHeaders().get("x-outbox-replay-reason"))
                .hasToString("ticket 7");
    }

    @Test
    void all_messages_of_an_event_are_replayed_and_an_event_without_one_is_told() throws Exception {
        publishDead(1, "orders");

        Run run = run("replay", "e1", "e9", "--reason", "ticket 7", "--yes");

        assertThat(run.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(run.out()).contains("Done: 2 messages.");
        assertThat(run.err()).contains("e9").doesNotContain("e1");
        assertThat(channel.messageCount("orders")).isEqualTo(2);
    }

    @Test
    void a_letter_cannot_talk_to_the_terminal() throws Exception {
        publishDead(7, "no\u001b[2Jsuch\u009bqueue\nDone");

        Run run = run("replay", "e7", "--reason", "ticket 7", "--dry-run");

        assertThat(run.out()).contains("no\\u001b[2Jsuch\\u009bqueue\\nDone").doesNotContain("\u001b", "\u009b");
    }

    @Test
    void what_stays_is_a_problem() throws Exception {
        channel.queueDelete("orders");

        Run run = run("replay", "e0", "--reason", "ticket 7", "--yes", "--json");

        assertThat(run.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(run.out()).contains("\"complete\" : false", "knows no queue");
        assertThat(channel.messageCount("dead")).isEqualTo(3);
    }

    @Test
    void what_is_wrong_is_told_and_no_password_is_shown() {
        assertThat(run("replay", "--reason", "x").err()).contains("--type");
        assertThat(run("replay", "--type", "T", "--reason", "x").err()).contains("--cap");
        assertThat(Run.of("dlq", "list", "--queue", "dead").err()).contains("OUTBOX_AMQP_URI");
        Run withPassword = Run.of("dlq", "list", "--queue", "dead", "--amqp-uri", "amqp://guest:hidden@localhost/");
        assertThat(withPassword.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(withPassword.err()).doesNotContain("hidden");
        assertThat(Run.of("dlq", "list", "--queue", "dead", "--amqp-uri", "http://localhost")
                        .exitCode())
                .isEqualTo(ExitCode.USAGE);
        assertThat(Run.of("dlq", "list", "--queue", "dead", "--amqp-uri", "amqp://127.0.0.1:1/")
                        .exitCode())
                .isEqualTo(ExitCode.FAILED);
        assertThat(Run.of("dlq").exitCode()).isEqualTo(ExitCode.USAGE);
    }
}
