package outbox.samples.market;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Only the message, without the job. The message must find its order overdue, at whatever fraction of a second the
 * order was created.
 */
@Timeout(120)
@Tag("mariadb")
@Tag("rabbitmq")
@Tag("mysql")
class TimeoutMessageTest {

    private static final String[] SETTINGS = {"--order.timeout.pending=1200ms", "--order.timeout.job-interval=1h"};

    @Test
    void on_mariadb_each_message_finds_its_order_overdue() {
        try (Market market = Market.start(SETTINGS)) {
            assertMessagesClose(market);
        }
    }

    @Test
    void on_mysql_each_message_finds_its_order_overdue() {
        try (Market market = Market.startOnMySql(SETTINGS)) {
            assertMessagesClose(market);
        }
    }

    @Test
    void on_h2_each_message_finds_its_order_overdue() {
        try (Market market = Market.startOnH2(SETTINGS)) {
            assertMessagesClose(market);
        }
    }

    private static void assertMessagesClose(Market market) {
        List<JsonNode> orders = new ArrayList<>();
        long end = System.nanoTime() + 1_000_000_000L;
        while (System.nanoTime() < end) { // covers all fractions of a second
            orders.add(market.order());
        }

        for (JsonNode order : orders) {
            long id = order.path("id").asLong();
            await().pollDelay(Duration.ZERO)
                    .atMost(Market.SOON)
                    .until(() -> !market.event(id, OrderEvent.ORDER_TIMEOUT)
                            .path("consumption")
                            .isNull());
            assertThat(market.statusOf(id)).isEqualTo("cancelled");
            assertThat(market.productStatus(order.path("productId").asLong())).isEqualTo("on_sale");
        }
    }
}
