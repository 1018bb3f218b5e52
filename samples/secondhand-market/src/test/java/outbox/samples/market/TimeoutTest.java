package outbox.samples.market;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Time-outs with a short duration: by the message, by the job, and with concurrent payments. */
@Timeout(300)
@Tag("mariadb")
@Tag("rabbitmq")
class TimeoutTest {

    private static final int RACES = 1000;
    private static final Duration PENDING = Duration.ofSeconds(3);

    private static Market market;

    @BeforeAll
    static void start() {
        market = Market.start(
                "--order.timeout.pending=" + PENDING.toMillis() + "ms",
                "--order.timeout.job-interval=700ms",
                "--spring.rabbitmq.listener.simple.concurrency=4");
    }

    @AfterAll
    static void stop() {
        market.close();
    }

    @Test
    void an_order_that_nobody_pays_is_cancelled_and_its_product_released() {
        JsonNode order = market.order();
        long id = order.path("id").asLong();
        assertThat(market.productStatus(order.path("productId").asLong())).isEqualTo("sold");

        await().atMost(Market.SOON).until(() -> market.statusOf(id).equals("cancelled"));

        JsonNode closed = market.get("/api/orders/" + id).body();
        assertThat(closed.path("cancelReason").asString()).isEqualTo("timeout");
        assertThat(market.productStatus(order.path("productId").asLong())).isEqualTo("on_sale");
        assertThat(market.count("SELECT cancelled_orders FROM buyer_credit WHERE buyer_id = ?", 10001))
                .isPositive();
        await().atMost(Market.SOON)
                .until(() -> market.event(id, OrderEvent.ORDER_TIMEOUT)
                        .path("consumption")
                        .path("consumer")
                        .asString("")
                        .equals("order-timeout"));
        assertThat(market.post("/api/orders/" + id + "/pay").status()).isEqualTo(409);
    }

    /**
     * Without its binding, the broker drops the messages that leave the delay queue. So there is no race with the
     * message, even on a slow machine.
     */
    @Test
    void an_order_whose_message_was_lost_is_cancelled_by_the_job() throws Exception {
        long product = market.offer();
        try (Spy spy = new Spy(market)) {
            spy.channel().queueUnbind(MarketTopology.TIMEOUT_QUEUE, MarketTopology.EXCHANGE, "order.timeout");
            try {
                assertThat(market.order(product, 10001).status()).isEqualTo(201);
                long id = orderOf(product);
                await().atMost(Market.SOON)
                        .until(() -> market.event(id, OrderEvent.ORDER_TIMEOUT)
                                .path("status")
                                .asString()
                                .equals("SENT"));
                await().atMost(Market.SOON)
                        .until(() -> spy.channel().messageCount(MarketTopology.TIMEOUT_DELAY_QUEUE) == 0);
            } finally {
                spy.channel().queueBind(MarketTopology.TIMEOUT_QUEUE, MarketTopology.EXCHANGE, "order.timeout");
            }
        }

        long id = orderOf(product);
        await().atMost(Market.SOON).until(() -> market.statusOf(id).equals("cancelled"));

        assertThat(market.get("/api/orders/" + id).body().path("cancelReason").asString())
                .isEqualTo("timeout");
        assertThat(market.productStatus(product)).isEqualTo("on_sale");
        assertThat(market.event(id, OrderEvent.ORDER_TIMEOUT)
                        .path("consumption")
                        .isNull())
                .isTrue();
    }

    private static long orderOf(long product) {
        return market.count("SELECT id FROM orders WHERE product_id = ?", product);
    }

    /**
     * A product is sold if one order has it, and on sale if none has. A product that a time-out released is bought
     * again immediately. So a second release would leave an order without its product, and a cancellation without a
     * release would leave a product without an order.
     */
    private static final String UNBALANCED = """
            SELECT COUNT(*)
              FROM products p
             WHERE (SELECT COUNT(*) FROM orders o WHERE o.product_id = p.id AND o.status <> 'cancelled')
                   <> CASE p.status WHEN 'sold' THEN 1 ELSE 0 END
            """;

    private static final String PAID_AND_CANCELLED = """
            SELECT COUNT(*)
              FROM orders o
             WHERE o.status = 'cancelled'
               AND (o.pay_time IS NOT NULL
                    OR EXISTS (SELECT 1 FROM outbox_events e WHERE e.event_type = 'ORDER_PAID' AND e.aggregate_id = o.id))
            """;

    /** The result of one race. */
    private record Race(long order, boolean paid) {}

    @Test
    void of_a_payment_and_a_timeout_at_the_same_moment_exactly_one_wins_a_thousand_times() throws Exception {
        ExecutorService buyers = Executors.newFixedThreadPool(8);
        ScheduledExecutorService payers = Executors.newScheduledThreadPool(16);
        try {
            List<Future<Future<Race>>> started = new ArrayList<>();
            Random random = new Random(42);
            for (int race = 0; race < RACES; race++) {
                long wait = PENDING.toMillis() - 300 + random.nextInt(600);
                long buyer = 50_000L + race;
                started.add(buyers.submit(() -> race(payers, wait, buyer)));
            }
            List<Race> races = new ArrayList<>();
            for (Future<Future<Race>> one : started) {
                races.add(one.get(90, TimeUnit.SECONDS).get(60, TimeUnit.SECONDS));
            }

            await().atMost(Market.SOON)
                    .until(() -> market.count("SELECT COUNT(*) FROM orders WHERE status = 'pending'") == 0);
            Map<Long, String> outcomes = new HashMap<>();
            market.database().sql("SELECT id, status FROM orders").query(row -> {
                outcomes.put(row.getLong(1), row.getString(2));
            });
            assertThat(races)
                    .allSatisfy(
                            race -> assertThat(outcomes.get(race.order)).isEqualTo(race.paid ? "paid" : "cancelled"));
            assertThat(market.count(UNBALANCED)).isZero();
            assertThat(market.count("SELECT COUNT(*) FROM outbox_events WHERE event_type = 'ORDER_PAID'"))
                    .isEqualTo(market.count("SELECT COUNT(*) FROM orders WHERE pay_time IS NOT NULL"));
            assertThat(market.count(PAID_AND_CANCELLED)).isZero();
            long paid = races.stream().filter(Race::paid).count();
            System.out.println(paid + " payments and " + (RACES - paid) + " time-outs won");
            assertThat(paid).isBetween(1L, RACES - 1L); // both sides won at least once
        } finally {
            buyers.shutdownNow();
            payers.shutdownNow();
        }
    }

    private static Future<Race> race(ScheduledExecutorService payers, long waitMillis, long buyer) {
        long product = market.offer();
        JsonNode order = market.order(product, buyer).body();
        long id = order.path("id").asLong();
        return payers.schedule(() -> pay(id, product, buyer), waitMillis, TimeUnit.MILLISECONDS);
    }

    /** Pays. If the time-out was first, the next buyer takes the product and pays, if there is enough time. */
    private static Race pay(long id, long product, long buyer) {
        int status = market.post("/api/orders/" + id + "/pay").status();
        assertThat(status).isIn(200, 409);
        if (status == 409) {
            Market.Answer next = market.order(product, buyer + 100_000);
            assertThat(next.status()).as(next.text()).isEqualTo(201);
            long second = next.body().path("id").asLong();
            assertThat(market.post("/api/orders/" + second + "/pay").status()).isIn(200, 409);
        }
        return new Race(id, status == 200);
    }
}
