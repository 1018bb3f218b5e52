package outbox.testing.fault;

import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.ConnectException;
import java.net.ServerSocket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayDeque;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static outbox.testing.fault.FaultProxy.Direction.TO_CLIENT;
import static outbox.testing.fault.FaultProxy.Direction.TO_SERVER;

/** The faults one by one, between a plain socket and a server that sends back what it receives. */
class FaultProxyTest {
    private static final Duration LIMIT = Duration.ofSeconds(10);

    @AutoClose
    private EchoServer server;

    @AutoClose
    private FaultProxy proxy;

    @AutoClose
    private EchoClient client;

    @BeforeEach
    void connect() throws IOException {
        server = new EchoServer(0);
        proxy = FaultProxy.to(server.port());
        client = new EchoClient(proxy.port());
        assertThat(client.exchange("hello")).isEqualTo("hello");
    }

    @Test
    void bytes_and_the_end_of_a_connection_pass_unchanged() throws IOException {
        var text = "0123456789".repeat(5_000);

        assertThat(client.exchange(text)).isEqualTo(text);

        client.finish();
        assertThat(client.receive(1)).isEmpty();
        await().atMost(LIMIT).until(() -> proxy.connections() == 0);
    }

    @Test
    void latency_delays_request_and_answer() throws IOException {
        proxy.latency(Duration.ofMillis(100));
        long start = System.nanoTime();

        client.exchange("a");

        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(200));
    }

    @Test
    void a_black_hole_to_the_server_holds_requests_until_it_heals() throws IOException {
        proxy.blackhole(TO_SERVER);
        client.send("ping");

        assertThatThrownBy(() -> client.patience(200).receive(4)).isInstanceOf(SocketTimeoutException.class);
        assertThat(server.received()).isEqualTo("hello");
        proxy.heal();
        assertThat(client.patience(10_000).receive(4)).isEqualTo("ping");
    }

    @Test
    void a_black_hole_to_the_client_holds_answers_until_it_heals() throws IOException {
        proxy.blackhole(TO_CLIENT);
        client.send("ping");

        await().atMost(LIMIT).until(() -> server.received().endsWith("ping"));
        assertThatThrownBy(() -> client.patience(200).receive(4)).isInstanceOf(SocketTimeoutException.class);
        proxy.heal();
        assertThat(client.patience(10_000).receive(4)).isEqualTo("ping");
    }

    @Test
    void a_connection_in_a_black_hole_can_still_be_cut() throws IOException {
        proxy.blackhole(TO_CLIENT);
        client.send("ping");
        await().atMost(LIMIT).until(() -> server.received().endsWith("ping"));

        proxy.cutAll();

        assertReset(client);
        await().atMost(LIMIT).until(() -> proxy.connections() == 0);
    }

    @Test
    void cutting_all_resets_both_sides_and_new_connections_work() throws IOException {
        proxy.cutAll();

        assertReset(client);
        await().atMost(LIMIT).until(() -> server.received().contains("[Connection reset]"));
        assertNewConnectionWorks();
    }

    @Test
    void a_cut_after_some_bytes_to_the_client_lets_exactly_these_through() throws IOException {
        var cut = proxy.cutAfter(TO_CLIENT, 3);

        assertThat(client.exchange("ab")).isEqualTo("ab");
        assertThat(cut).isNotDone();
        client.send("cdef");

        assertThat(client.receive(1)).isEqualTo("c");
        assertReset(client);
        assertThat(cut).succeedsWithin(LIMIT);
        assertNewConnectionWorks();
    }

    @Test
    void a_cut_after_some_bytes_to_the_server_lets_exactly_these_through() throws IOException {
        var cut = proxy.cutAfter(TO_SERVER, 3);

        client.send("abcdef");

        assertThat(cut).succeedsWithin(LIMIT);
        await().atMost(LIMIT).until(() -> server.received().contains("reset"));
        assertThat(server.received()).startsWith("helloabc[");
    }

    @Test
    void a_cut_before_a_request_keeps_it_from_the_server() throws IOException {
        var cut = proxy.cutBefore("COMMIT");

        client.send("COMMIT");

        assertReset(client);
        assertThat(cut).succeedsWithin(LIMIT);
        assertThat(server.received()).doesNotContain("COMMIT");
    }

    @Test
    void a_request_is_recognised_across_the_pieces_it_comes_in() throws IOException {
        var cut = proxy.cutBefore("COMMIT");

        assertThat(client.exchange("COM")).isEqualTo("COM");
        client.send("MIT");

        assertReset(client);
        assertThat(cut).succeedsWithin(LIMIT);
    }

    @Test
    void a_swallowed_reply_is_one_to_a_request_that_the_server_has_seen() throws IOException {
        var cut = proxy.swallowReplyAfter("COMMIT");

        assertThat(client.exchange("INSERT")).isEqualTo("INSERT");
        client.send("COMMIT");

        assertReset(client);
        assertThat(cut).succeedsWithin(LIMIT);
        assertThat(server.received()).contains("COMMIT");
    }

    @Test
    void a_trap_springs_once() throws IOException {
        proxy.swallowReplyAfter("COMMIT");
        client.send("COMMIT");
        assertReset(client);

        try (var next = new EchoClient(proxy.port())) {
            assertThat(next.exchange("COMMIT")).isEqualTo("COMMIT");
        }
    }

    @Test
    void healing_and_arming_another_cancel_a_trap_that_has_not_sprung() throws IOException {
        var first = proxy.cutBefore("COMMIT");
        var second = proxy.swallowReplyAfter("COMMIT");
        proxy.heal();

        assertThat(first).isCancelled();
        assertThat(second).isCancelled();
        assertThat(client.exchange("COMMIT")).isEqualTo("COMMIT");
    }

    @Test
    void down_refuses_and_resets_and_up_serves_on_the_same_port() throws IOException {
        int port = proxy.port();

        proxy.down();
        proxy.down();
        assertReset(client);
        assertThatThrownBy(() -> new EchoClient(port)).isInstanceOf(ConnectException.class);

        proxy.up();
        proxy.up();
        assertThat(proxy.port()).isEqualTo(port);
        assertNewConnectionWorks();
    }

    @Test
    void a_client_is_reset_while_the_server_is_away() throws IOException {
        int port = server.port();
        server.close();
        assertThatThrownBy(() -> connectAndReceive(proxy)).hasMessageContaining("reset");

        try (var back = new EchoServer(port)) {
            assertNewConnectionWorks();
            assertThat(back.received()).isNotEmpty();
        }
    }

    @Test
    void closing_twice_is_fine_and_for_good() {
        proxy.close();
        proxy.close();

        assertReset(client);
        assertThatThrownBy(() -> new EchoClient(proxy.port())).isInstanceOf(ConnectException.class);
        assertThatThrownBy(proxy::up).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
    }

    @Test
    void connections_beyond_256_are_reset() throws IOException {
        var clients = new ArrayDeque<EchoClient>();
        try (var silent = new ServerSocket(0, 300);
                var small = FaultProxy.to(silent.getLocalPort())) {
            for (int i = 0; i < 256; i++) {
                clients.add(new EchoClient(small.port()));
            }
            await().atMost(LIMIT).until(() -> small.connections() == 256);

            assertThatThrownBy(() -> connectAndReceive(small)).hasMessageContaining("reset");
            assertThat(small.connections()).isEqualTo(256);
        } finally {
            for (var each : clients) {
                each.close();
            }
        }
    }

    private void assertNewConnectionWorks() throws IOException {
        try (var next = new EchoClient(proxy.port())) {
            assertThat(next.exchange("again")).isEqualTo("again");
        }
    }

    /** A reset may come as early as that, while the client still connects. */
    private static void connectAndReceive(FaultProxy through) throws IOException {
        try (var refused = new EchoClient(through.port())) {
            refused.receive(1);
        }
    }

    private static void assertReset(EchoClient reset) {
        assertThatThrownBy(() -> reset.receive(1))
                .isInstanceOf(SocketException.class)
                .hasMessageContaining("reset");
    }
}
