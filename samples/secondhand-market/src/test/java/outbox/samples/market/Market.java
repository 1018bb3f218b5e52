package outbox.samples.market;

import com.rabbitmq.client.ConnectionFactory;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.MySqlServer;
import outbox.testing.server.RabbitServer;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The running application with its own database and virtual host, on the real servers of this JVM, and the requests
 * of tests over HTTP.
 */
final class Market implements AutoCloseable {

    static final Duration SOON = Duration.ofSeconds(30);
    static final JsonMapper JSON = new JsonMapper();

    private static final HttpClient HTTP = HttpClient.newHttpClient();

    private final String virtualHost = RabbitServer.shared().createVirtualHost();
    private final String databaseUrl;
    private final ConfigurableApplicationContext application;
    private final String url;

    /** A response over HTTP. */
    record Answer(int status, String contentType, String text) {

        JsonNode body() {
            return JSON.readTree(text);
        }
    }

    private Market(String databaseUrl, String... settings) {
        this(databaseUrl, RabbitServer.shared().port(), settings);
    }

    private Market(String databaseUrl, int brokerPort, String... settings) {
        this.databaseUrl = databaseUrl;
        List<String> all = new ArrayList<>(List.of(
                "--server.port=0",
                "--spring.datasource.url=" + databaseUrl,
                "--spring.rabbitmq.host=127.0.0.1",
                "--spring.rabbitmq.port=" + brokerPort,
                "--spring.rabbitmq.virtual-host=" + virtualHost,
                "--outbox.dispatcher.scan-interval=500ms",
                "--outbox.dispatcher.retry-delays=1s,1s,5s",
                "--market.consumers.redelivery-delay=100ms",
                "--market.consumers.sample-interval=300ms"));
        all.addAll(List.of(settings));
        application = new SpringApplicationBuilder(MarketApplication.class)
                .registerShutdownHook(false) // the test closes it before the servers stop
                .run(all.toArray(String[]::new));
        url = "http://127.0.0.1:" + application.getEnvironment().getProperty("local.server.port");
    }

    static Market start(String... settings) {
        return new Market(MariaDbServer.shared().createDatabase(), settings);
    }

    static Market startOnMySql(String... settings) {
        return new Market(MySqlServer.shared().createDatabase(), settings);
    }

    /** Starts with the broker on this port. */
    static Market startOnBroker(int port) {
        return new Market(MariaDbServer.shared().createDatabase(), port);
    }

    /** Starts with the H2 database of the profile h2. */
    static Market startOnH2(String... settings) {
        List<String> all = new ArrayList<>(List.of(settings));
        all.add("--spring.profiles.active=h2");
        return new Market("jdbc:h2:mem:" + UUID.randomUUID() + ";MODE=MySQL", all.toArray(String[]::new));
    }

    String virtualHost() {
        return virtualHost;
    }

    String url() {
        return url;
    }

    /** Returns direct access to the tables, without the application. */
    JdbcClient database() {
        return JdbcClient.create(new DriverManagerDataSource(databaseUrl));
    }

    long count(String sql, Object... params) {
        return database().sql(sql).params(params).query(Long.class).single();
    }

    /** Returns direct access to the broker, without the application. */
    ConnectionFactory broker() {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setHost("127.0.0.1");
        factory.setPort(RabbitServer.shared().port());
        factory.setVirtualHost(virtualHost);
        return factory;
    }

    JsonNode management(String path) {
        return JSON.readTree(RabbitServer.shared().management(path.replace("{vhost}", virtualHost)));
    }

    <T> T bean(String name, Class<T> type) {
        return application.getBean(name, type);
    }

    Answer get(String path) {
        return send(request(path).GET());
    }

    Answer post(String path, String json) {
        return send(request(path).header("Content-Type", "application/json").POST(BodyPublishers.ofString(json)));
    }

    /** Posts like a page of this origin. */
    Answer postFrom(String origin, String path, String json) {
        return send(request(path)
                .header("Origin", origin)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(json)));
    }

    Answer post(String path) {
        return send(request(path).POST(BodyPublishers.noBody()));
    }

    long offer() {
        Answer offered = post("/api/products", "{\"sellerId\":10002,\"title\":\"台灯\",\"price\":88.50}");
        assertThat(offered.status()).as(offered.text()).isEqualTo(201);
        return offered.body().path("id").asLong();
    }

    /** Creates a product and a pending order of it. */
    JsonNode order() {
        Answer placed = order(offer(), 10001);
        assertThat(placed.status()).as(placed.text()).isEqualTo(201);
        return placed.body();
    }

    Answer order(long product, long buyer) {
        return post("/api/orders", "{\"productId\":" + product + ",\"buyerId\":" + buyer + "}");
    }

    String statusOf(long order) {
        return get("/api/orders/" + order).body().path("status").asString();
    }

    String productStatus(long product) {
        return get("/api/products/" + product).body().path("status").asString();
    }

    /** Returns the event of the order with this type. */
    JsonNode event(long order, OrderEvent type) {
        for (JsonNode event : get("/api/orders/" + order + "/events").body()) {
            if (event.path("eventType").asString().equals(type.name())) {
                return event;
            }
        }
        throw new AssertionError("Order " + order + " has no event " + type);
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(url + path)).timeout(Duration.ofSeconds(30));
    }

    private static Answer send(HttpRequest.Builder request) {
        try {
            HttpResponse<String> answer = HTTP.send(request.build(), BodyHandlers.ofString());
            return new Answer(
                    answer.statusCode(),
                    answer.headers().firstValue("Content-Type").orElse(""),
                    answer.body());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        application.close();
    }
}
