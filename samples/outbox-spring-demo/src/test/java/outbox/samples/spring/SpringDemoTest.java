package outbox.samples.spring;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Starts the application as a separate process and uses it over HTTP, as a user would. */
@Tag("process")
class SpringDemoTest {

    private static final Pattern STARTED = Pattern.compile("Tomcat started on port (\\d+)");
    private static final String LAMP = "{\"item\": \"lamp\", \"quantity\": 2}";

    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static Process application;
    private static String url;

    @BeforeAll
    static void start(@TempDir Path directory) throws IOException {
        Path output = directory.resolve("output.txt");
        application = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        SpringDemoApplication.class.getName(),
                        "--server.port=0")
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        await().atMost(Duration.ofSeconds(90))
                .failFast("The application ended", () -> !application.isAlive())
                .until(() -> STARTED.matcher(Files.readString(output)).find());
        Matcher started = STARTED.matcher(Files.readString(output));
        assertThat(started.find()).isTrue();
        url = "http://127.0.0.1:" + started.group(1);
    }

    @AfterAll
    static void stop() throws InterruptedException {
        application.destroy();
        if (!application.waitFor(20, TimeUnit.SECONDS)) {
            application.destroyForcibly();
        }
    }

    @Test
    void an_order_is_stored_and_its_event_is_delivered() throws Exception {
        HttpResponse<String> placed = post("/orders", LAMP);

        assertThat(placed.statusCode()).isEqualTo(201);
        String location = placed.headers().firstValue("Location").orElseThrow();
        assertThat(get(location).body()).isEqualTo(placed.body()).contains("\"item\":\"lamp\"");
        String id = location.substring("/orders/".length());
        await().atMost(Duration.ofSeconds(20))
                .untilAsserted(() -> assertThat(get("/deliveries").body()).containsOnlyOnce("\"orderId\":\"" + id));
    }

    @Test
    void an_order_that_fails_leaves_neither_a_row_nor_an_event() throws Exception {
        HttpResponse<String> refused = post("/orders?fail=true", LAMP);

        assertThat(refused.statusCode()).isEqualTo(422);
        assertIsProblem(refused);
        Matcher id = Pattern.compile("order ([0-9a-f-]{36})").matcher(refused.body());
        assertThat(id.find()).isTrue();
        assertThat(get("/orders/" + id.group(1)).statusCode()).isEqualTo(404);

        String next = place();
        await().atMost(Duration.ofSeconds(20))
                .untilAsserted(() -> assertThat(get("/deliveries").body()).contains(next));
        assertThat(get("/deliveries").body()).doesNotContain(id.group(1));
    }

    @Test
    void the_outbox_shows_what_it_holds_and_is_healthy() throws Exception {
        place();

        await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            assertThat(get("/actuator/outbox/default").body()).contains("\"DONE\":");
            assertThat(get("/actuator/health").body()).contains("\"UP\"");
        });
    }

    @Test
    void errors_are_problem_details() throws Exception {
        assertIsProblem(get("/orders/unknown"));
        assertIsProblem(get("/no-such-page"));
        assertIsProblem(post("/orders", "not json"));

        HttpResponse<String> invalid = post("/orders", "{\"item\": \"\", \"quantity\": 0}");
        assertIsProblem(invalid);
        assertThat(invalid.statusCode()).isEqualTo(400);
        assertThat(invalid.body()).contains("1 to 200 characters");
    }

    /** Places an order and returns its id. */
    private static String place() throws IOException, InterruptedException {
        HttpResponse<String> placed = post("/orders", LAMP);
        return placed.headers().firstValue("Location").orElseThrow().substring("/orders/".length());
    }

    private static void assertIsProblem(HttpResponse<String> response) {
        assertThat(response.headers().firstValue("Content-Type")).contains("application/problem+json");
        assertThat(response.body()).contains("\"status\":" + response.statusCode(), "\"title\":", "\"detail\":");
    }

    private static HttpResponse<String> get(String path) throws IOException, InterruptedException {
        return send(request(path).GET());
    }

    private static HttpResponse<String> post(String path, String json) throws IOException, InterruptedException {
        return send(request(path).header("Content-Type", "application/json").POST(BodyPublishers.ofString(json)));
    }

    private static HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(url + path)).timeout(Duration.ofSeconds(20));
    }

    private static HttpResponse<String> send(HttpRequest.Builder request) throws IOException, InterruptedException {
        return HTTP.send(request.build(), BodyHandlers.ofString());
    }
}
