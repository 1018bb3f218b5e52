package outbox.samples.market;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerMapping;
import org.yaml.snakeyaml.Yaml;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** The API apart from the order flows: responses, errors, the API document and the page. */
@Timeout(120)
@Tag("mariadb")
@Tag("rabbitmq")
class ApiTest {

    private static Market market;

    @BeforeAll
    static void start() {
        market = Market.start();
    }

    @AfterAll
    static void stop() {
        market.close();
    }

    @Test
    void a_product_can_be_bought_once() {
        long product = market.offer();

        assertThat(market.get("/api/products/" + product).body().path("title").asString())
                .isEqualTo("台灯");
        assertThat(market.order(product, 1).status()).isEqualTo(201);
        Market.Answer late = market.order(product, 2);

        assertThat(late.status()).isEqualTo(409);
        assertIsProblem(late);
        assertThat(market.productStatus(product)).isEqualTo("sold");
    }

    @Test
    void an_order_that_is_cancelled_gives_its_product_back() {
        var order = market.order();
        long id = order.path("id").asLong();

        assertThat(market.post("/api/orders/" + id + "/cancel")
                        .body()
                        .path("cancelReason")
                        .asString())
                .isEqualTo("buyer");

        assertThat(market.productStatus(order.path("productId").asLong())).isEqualTo("on_sale");
        assertThat(market.post("/api/orders/" + id + "/cancel").status()).isEqualTo(409);
        assertThat(market.post("/api/orders/" + id + "/pay").status()).isEqualTo(409);
    }

    @Test
    void no_step_can_be_left_out_or_repeated() {
        long id = market.order().path("id").asLong();

        assertThat(market.post("/api/orders/" + id + "/ship").status()).isEqualTo(409);
        assertThat(market.post("/api/orders/" + id + "/complete").status()).isEqualTo(409);
        assertThat(market.post("/api/orders/" + id + "/pay").status()).isEqualTo(200);
        assertThat(market.post("/api/orders/" + id + "/pay").status()).isEqualTo(409);
        assertThat(market.post("/api/orders/" + id + "/cancel").status()).isEqualTo(409);
        assertThat(market.post("/api/orders/" + id + "/ship").status()).isEqualTo(200);
        assertThat(market.post("/api/orders/" + id + "/ship").status()).isEqualTo(409);
        assertThat(market.post("/api/orders/" + id + "/complete").status()).isEqualTo(200);
    }

    @Test
    void errors_are_problem_details() {
        assertIsProblem(market.get("/api/products/1000000"));
        assertIsProblem(market.get("/api/orders/1000000"));
        assertIsProblem(market.get("/api/orders/1000000/events"));
        assertIsProblem(market.get("/api/orders/one"));
        assertIsProblem(market.post("/api/orders/1000000/pay"));
        assertIsProblem(market.order(1_000_000, 1));
        assertIsProblem(market.get("/no-such-page"));
        assertIsProblem(market.post("/api/orders", "not json"));
        assertIsProblem(market.post("/api/dlq/replay", "{\"limit\":0}"));
        Market.Answer invalid = market.post("/api/products", "{\"sellerId\":1,\"title\":\"lamp\",\"price\":1.005}");
        assertIsProblem(invalid);
        assertThat(invalid.status()).isEqualTo(400);
        assertThat(invalid.text()).contains("two decimals");
    }

    @Test
    void a_page_of_another_origin_can_change_nothing() {
        String product = "{\"sellerId\":1,\"title\":\"lamp\",\"price\":1.00}";

        for (String foreign : List.of("http://elsewhere.example", "null", "http://127.0.0.1:1")) {
            Market.Answer refused = market.postFrom(foreign, "/api/products", product);
            assertThat(refused.status()).as(foreign).isEqualTo(403);
            assertIsProblem(refused);
        }
        assertThat(market.postFrom(market.url(), "/api/products", product).status())
                .isEqualTo(201);
    }

    private static void assertIsProblem(Market.Answer answer) {
        assertThat(answer.contentType()).as(answer.text()).isEqualTo("application/problem+json");
        assertThat(answer.body().path("status").asInt())
                .isEqualTo(answer.status())
                .isGreaterThanOrEqualTo(400);
        assertThat(answer.body().path("detail").asString()).isNotEmpty();
    }

    @Test
    void the_document_has_exactly_the_operations_of_the_controllers() {
        Set<String> mapped = new TreeSet<>();
        market.bean("requestMappingHandlerMapping", RequestMappingHandlerMapping.class)
                .getHandlerMethods()
                .keySet()
                .forEach(info -> info.getPatternValues()
                        .forEach(path -> info.getMethodsCondition()
                                .getMethods()
                                .forEach(method -> mapped.add(method + " " + path))));
        mapped.removeIf(operation -> !operation.contains(" /api/"));

        Set<String> documented = new TreeSet<>();
        Map<String, Map<String, Map<String, Object>>> document =
                new Yaml().load(market.get("/openapi.yaml").text());
        Objects.requireNonNull(document.get("paths"))
                .forEach((path, operations) -> operations
                        .keySet()
                        .forEach(method -> documented.add(method.toUpperCase(Locale.ROOT) + " " + path)));

        assertThat(documented)
                .isEqualTo(mapped)
                .containsExactlyInAnyOrder(
                        "POST /api/products",
                        "GET /api/products/{id}",
                        "POST /api/orders",
                        "GET /api/orders/{id}",
                        "POST /api/orders/{id}/pay",
                        "POST /api/orders/{id}/ship",
                        "POST /api/orders/{id}/complete",
                        "POST /api/orders/{id}/cancel",
                        "GET /api/orders/{id}/events",
                        "GET /api/dlq",
                        "POST /api/dlq/replay");
    }

    @Test
    void answers_have_the_fields_of_the_document() {
        var order = market.order();
        long id = order.path("id").asLong();
        var product = market.get("/api/products/" + order.path("productId").asLong());

        assertThat(fields(market, "Product")).hasSameElementsAs(product.body().propertyNames());
        assertThat(fields(market, "Order")).hasSameElementsAs(order.propertyNames());
        assertThat(fields(market, "Event"))
                .hasSameElementsAs(market.event(id, OrderEvent.ORDER_CREATED).propertyNames());
        assertThat(fields(market, "ReplayResult"))
                .hasSameElementsAs(market.post("/api/dlq/replay").body().propertyNames());
    }

    static Set<String> fields(Market market, String schema) {
        Map<String, Map<String, Map<String, Map<String, Map<String, Object>>>>> document =
                new Yaml().load(market.get("/openapi.yaml").text());
        return document.getOrDefault("components", Map.of())
                .getOrDefault("schemas", Map.of())
                .getOrDefault(schema, Map.of())
                .getOrDefault("properties", Map.of())
                .keySet();
    }

    @Test
    void the_page_is_served_and_fed_and_shows_everything_as_text() {
        assertThat(market.get("/").text()).contains("<script src=\"market.js\">", "default-src 'self'");
        assertThat(market.get("/market.js").text())
                .contains("textContent")
                .doesNotContain("innerHTML", "insertAdjacentHTML", "document.write");
        long id = market.order().path("id").asLong();

        var live = market.get("/live").body();

        assertThat(live.path("products")).isNotEmpty();
        assertThat(live.path("orders")).anyMatch(order -> order.path("id").asLong() == id);
        assertThat(live.path("events")).anyMatch(event -> event.path("orderId").asLong() == id);
        await().atMost(Market.SOON) // for the first sample of the queues
                .until(() -> market.get("/live").body().path("queues").has("order.dlq.queue"));
    }
}
