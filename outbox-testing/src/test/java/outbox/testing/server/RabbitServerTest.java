package outbox.testing.server;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import outbox.testing.internal.Loopback;

import java.io.IOException;
import java.net.Socket;
import java.nio.file.Path;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Without a client of AMQP, which outbox-rabbitmq has, and with it the tests of messages, alarms and connections. */
@Tag("rabbitmq")
class RabbitServerTest {

    @Test
    void the_shared_node_is_one_and_closing_it_leaves_it_running() {
        var server = RabbitServer.shared();

        server.close();

        assertThat(RabbitServer.shared()).isSameAs(server);
        assertThat(server.management("overview")).contains("\"rabbitmq_version\"");
    }

    @Test
    void virtual_hosts_have_names_of_their_own() {
        var server = RabbitServer.shared();

        var first = server.createVirtualHost();
        var second = server.createVirtualHost();

        assertThat(first).isNotEqualTo(second);
        assertThat(server.management("vhosts")).contains(first, second);
    }

    @Test
    void a_private_node_can_be_killed_restarted_shut_down_and_closed() throws IOException {
        var server = RabbitServer.start();
        Path directory;
        try (server) {
            var virtualHost = server.createVirtualHost();
            long pid = server.pid();
            int port = server.port();
            directory = Path.of("/proc", Long.toString(pid), "cwd").toRealPath();

            server.kill();
            assertThat(ProcessHandle.of(pid)).isEmpty();
            assertThatThrownBy(() -> connect(port)).isInstanceOf(IOException.class);

            server.restart();
            assertThat(server.port()).isEqualTo(port);
            assertThat(server.pid()).isNotEqualTo(pid);
            connect(port);
            assertThat(server.management("vhosts")).contains(virtualHost);

            server.raiseMemoryAlarm();
            assertThat(alarms(server)).contains("memory");

            server.clearMemoryAlarm();
            assertThat(alarms(server)).doesNotContain("memory");

            server.shutDown();
            assertThatThrownBy(() -> connect(port)).isInstanceOf(IOException.class);
        }
        assertThat(directory).doesNotExist();
        assertThatThrownBy(server::restart)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
    }

    private static String alarms(RabbitServer server) {
        return server.control("eval", "rabbit_alarm:get_alarms().");
    }

    private static void connect(int port) throws IOException {
        try (var socket = new Socket()) {
            socket.connect(Loopback.address(port));
        }
    }
}
