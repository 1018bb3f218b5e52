package outbox.samples.market;

import ch.qos.logback.classic.Level;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.fault.FaultProxy;
import outbox.testing.server.RabbitServer;
import tools.jackson.databind.JsonNode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Sections 7.2 and 7.3 with an unavailable broker: its failures count like all others. */
@Timeout(120)
@Tag("mariadb")
@Tag("rabbitmq")
class BrokerAwayTest {

    @Test
    void a_send_that_fails_because_the_broker_is_away_is_counted_and_ends_failed_with_an_alarm() {
        try (FaultProxy proxy = FaultProxy.to(RabbitServer.shared().port());
                Market market = Market.startOnBroker(proxy.port());
                LogTap log = new LogTap()) {
            proxy.down();

            long id = market.order().path("id").asLong();

            JsonNode failed = await().atMost(Market.SOON.multipliedBy(2))
                    .until(
                            () -> market.event(id, OrderEvent.ORDER_CREATED),
                            event -> event.path("status").asString().equals("FAILED"));
            assertThat(failed.path("retryCount").asInt()).isEqualTo(4); // three retries, and one more failure
            assertThat(log.one(Level.ERROR, failed.path("eventId").asString()).getFormattedMessage())
                    .startsWith(Texts.SEND_FAILED)
                    .contains("FAILED after 4 attempts", "cannot be reached"); // the reason
            assertThat(market.statusOf(id)).isEqualTo("pending"); // the business is not affected
        }
    }

    @Test
    void a_broker_that_comes_back_before_the_last_try_gets_the_event() {
        try (FaultProxy proxy = FaultProxy.to(RabbitServer.shared().port());
                Market market = Market.startOnBroker(proxy.port())) {
            proxy.down();
            long id = market.order().path("id").asLong();
            await().atMost(Market.SOON)
                    .until(() -> market.event(id, OrderEvent.ORDER_CREATED)
                                    .path("retryCount")
                                    .asInt()
                            >= 1);

            proxy.up();

            await().atMost(Market.SOON)
                    .until(() -> market.event(id, OrderEvent.ORDER_CREATED)
                            .path("status")
                            .asString()
                            .equals("SENT"));
        }
    }
}
