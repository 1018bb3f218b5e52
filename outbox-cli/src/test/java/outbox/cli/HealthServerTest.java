package outbox.cli;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

class HealthServerTest {

    private static final String TOKEN = "0123456789abcdef";

    private static RelaySettings.Server settings(Optional<String> token) {
        return new RelaySettings.Server(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), token, Optional.of("/debug/prometheus"));
    }

    private static HealthServer start(Optional<String> token, boolean isUp) {
        return HealthServer.start(
                settings(token),
                () -> new HealthServer.Health(isUp, "{\"up\":" + isUp + "}"),
                () -> "outbox_pending 3\n");
    }

    private static HttpResponse<String> get(HealthServer server, String path, String... headers) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.port() + path))
                .timeout(Duration.ofSeconds(8)); // less than an earlier version waited for an incomplete request
        if (headers.length > 0) {
            request.headers(headers);
        }
        return HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void health_and_metrics_are_served() throws Exception {
        try (HealthServer server = start(Optional.empty(), true)) {
            assertThat(get(server, "/health").statusCode()).isEqualTo(200);
            assertThat(get(server, "/health").body()).isEqualTo("{\"up\":true}");
            assertThat(get(server, "/debug/prometheus").body()).isEqualTo("outbox_pending 3\n");
            assertThat(get(server, "/health/more").statusCode()).isEqualTo(404);
            assertThat(get(server, "/").statusCode()).isEqualTo(404);
        }
    }

    @Test
    void what_is_down_says_so_by_its_status() throws Exception {
        try (HealthServer server = start(Optional.empty(), false)) {
            assertThat(get(server, "/health").statusCode()).isEqualTo(503);
        }
    }

    @Test
    void where_a_token_is_set_nothing_is_told_without_it() throws Exception {
        try (HealthServer server = start(Optional.of(TOKEN), true)) {
            assertThat(get(server, "/health").statusCode()).isEqualTo(401);
            assertThat(get(server, "/debug/prometheus", "Authorization", "Bearer wrong")
                            .statusCode())
                    .isEqualTo(401);
            assertThat(get(server, "/health", "Authorization", "Bearer " + TOKEN)
                            .statusCode())
                    .isEqualTo(200);
        }
    }

    private static List<Socket> halfRequests(HealthServer server, int count) throws IOException {
        List<Socket> halves = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Socket half = new Socket(InetAddress.getLoopbackAddress(), server.port());
            half.getOutputStream().write("GET /health HTTP/1.1\r\nHost: lo".getBytes(StandardCharsets.US_ASCII));
            half.getOutputStream().flush();
            halves.add(half);
        }
        return halves;
    }

    private static void close(List<Socket> sockets) throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
    }

    @Test
    void half_requests_do_not_keep_others_waiting() throws Exception {
        try (HealthServer server = start(Optional.empty(), true)) {
            List<Socket> halves = halfRequests(server, 80);
            try {
                assertThat(get(server, "/health").statusCode()).isEqualTo(200);
                assertThat(get(server, "/debug/prometheus").statusCode()).isEqualTo(200);
            } finally {
                close(halves);
            }
        }
    }

    @Test
    void a_half_request_whose_sender_stays_is_ended_by_the_server() throws Exception {
        try (HealthServer server = start(Optional.empty(), true)) {
            List<Socket> half = halfRequests(server, 1);
            try {
                half.get(0).setSoTimeout(30_000);

                assertThat(half.get(0).getInputStream().read()).isEqualTo(-1);
            } finally {
                close(half);
            }
        }
    }

    @Test
    void a_flood_of_half_requests_ends_with_its_sender() throws Exception {
        try (HealthServer server = start(Optional.empty(), true)) {
            close(halfRequests(server, 400));

            await().atMost(Duration.ofSeconds(60))
                    .ignoreExceptions()
                    .until(() -> get(server, "/health").statusCode() == 200);
        }
    }

    @Test
    void an_address_in_use_is_a_wrong_setting() {
        try (HealthServer server = start(Optional.empty(), true)) {
            RelaySettings.Server same = new RelaySettings.Server(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()),
                    Optional.empty(),
                    Optional.empty());

            assertThatThrownBy(() -> HealthServer.start(same, () -> new HealthServer.Health(true, ""), () -> ""))
                    .isInstanceOf(SettingsException.class)
                    .hasMessageContaining("OUTBOX_SERVER_BIND");
        }
    }
}
