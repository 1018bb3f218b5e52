package outbox.samples.market;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.io.support.ResourcePropertySource;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.RabbitServer;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** The defaults that the specification defines, and the refusal of invalid settings. */
@Tag("mariadb")
@Tag("rabbitmq")
class SettingsTest {

    @Test
    void the_defaults_are_those_of_the_scope() {
        DispatcherSettings dispatcher = bind("outbox.dispatcher", DispatcherSettings.class, Map.of());
        assertThat(dispatcher.batchSize()).isEqualTo(200);
        assertThat(dispatcher.scanInterval()).isEqualTo(Duration.ofSeconds(5));
        assertThat(dispatcher.retryDelays())
                .containsExactly(Duration.ofSeconds(5), Duration.ofSeconds(30), Duration.ofMinutes(2));
        assertThat(dispatcher.maxAttempts()).isEqualTo(4);

        RabbitSettings rabbit = bind("spring.rabbitmq", RabbitSettings.class, Map.of());
        assertThat(rabbit.host()).isEqualTo("localhost");
        assertThat(rabbit.port()).isEqualTo(5672);
        assertThat(rabbit.virtualHost()).isEqualTo("/");
        assertThat(rabbit.username() + "/" + rabbit.password()).isEqualTo("guest/guest");
        assertThat(rabbit.publisherConfirmType()).isEqualTo("correlated");
        assertThat(rabbit.publisherReturns()).isTrue();
        assertThat(rabbit.listener().simple().acknowledgeMode()).isEqualTo("manual");
        assertThat(rabbit.listener().simple().prefetch()).isEqualTo(20);
        assertThat(rabbit.listener().simple().defaultRequeueRejected()).isFalse();

        assertThat(bind("order.timeout", OrderTimeoutSettings.class, Map.of()).timeout())
                .isEqualTo(Duration.ofMinutes(15));
    }

    @Test
    void the_wait_after_each_failure_is_5_s_30_s_and_2_min() throws IOException {
        StandardEnvironment environment = new StandardEnvironment();
        environment.getPropertySources().addLast(new ResourcePropertySource("classpath:application.properties"));

        Binder starter = Binder.get(environment);
        assertThat(starter.bind("outbox.retry.policy", String.class).get()).isEqualTo("series");
        assertThat(starter.bind("outbox.retry.waits", Bindable.listOf(Duration.class))
                        .get())
                .containsExactly(Duration.ofSeconds(5), Duration.ofSeconds(30), Duration.ofMinutes(2));
        assertThat(starter.bind("outbox.retry.max-attempts", Integer.class).get())
                .isEqualTo(4);
    }

    @Test
    void the_time_for_pending_orders_is_minutes_or_a_span_but_not_both() {
        assertThat(timeout(Map.of("order.timeout.pending-minutes", "20"))).isEqualTo(Duration.ofMinutes(20));
        assertThat(timeout(Map.of("order.timeout.pending", "1500ms"))).isEqualTo(Duration.ofMillis(1500));
        assertThatThrownBy(() -> timeout(Map.of("order.timeout.pending-minutes", "20", "order.timeout.pending", "1s")))
                .hasRootCauseInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> timeout(Map.of("order.timeout.pending-minutes", "0")))
                .hasRootCauseInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void what_is_frozen_cannot_be_set_otherwise() {
        for (var wrong : Map.of(
                        "spring.rabbitmq.publisher-confirm-type", "none",
                        "spring.rabbitmq.publisher-returns", "false",
                        "spring.rabbitmq.addresses", "mq1:5672,mq2:5672",
                        "spring.rabbitmq.ssl.enabled", "true",
                        "spring.rabbitmq.listener.simple.acknowledge-mode", "auto",
                        "spring.rabbitmq.listener.simple.default-requeue-rejected", "true")
                .entrySet()) {
            assertThatThrownBy(() ->
                            bind("spring.rabbitmq", RabbitSettings.class, Map.of(wrong.getKey(), wrong.getValue())))
                    .rootCause()
                    .hasMessageContaining(wrong.getKey());
        }
    }

    @Test
    void only_the_profile_h2_brings_a_database_of_its_own() {
        assertThat(StartWithServers.hasProfileH2("--spring.profiles.active=h2")).isTrue();
        assertThat(StartWithServers.hasProfileH2("--spring.profiles.active=dev, h2"))
                .isTrue();
        assertThat(StartWithServers.hasProfileH2("--spring.profiles.active=dev"))
                .isFalse();
        assertThat(StartWithServers.hasProfileH2()).isFalse();
    }

    @Test
    void servers_at_the_default_places_are_used_and_those_that_are_not_there_are_started_and_told() throws IOException {
        String database = MariaDbServer.shared().createDatabase();
        List<String> told = new ArrayList<>();

        assertThat(StartWithServers.missing(database, RabbitServer.shared().port(), told::add))
                .isEmpty();
        assertThat(told)
                .containsExactly(
                        "MariaDB: uses the one at " + database,
                        "RabbitMQ: uses the one at localhost:"
                                + RabbitServer.shared().port());

        told.clear();
        String nobody = "jdbc:mariadb://localhost:1/market"; // nothing listens on port 1
        assertThat(StartWithServers.missing(nobody, 1, told::add)).containsExactly(Servers.MARIADB, Servers.RABBITMQ);
        assertThat(told)
                .satisfiesExactly(
                        line -> assertThat(line).contains("MariaDB", nobody, "starts a private one"),
                        line -> assertThat(line).contains("RabbitMQ", "localhost:1", "starts a private one"));

        told.clear();
        assertThat(StartWithServers.missing(
                        nobody, 1, told::add, "--spring.datasource.url=jdbc:x", "--spring.rabbitmq.host=mq"))
                .isEmpty();
        assertThat(told).isEmpty();
    }

    @Test
    void a_stored_payload_gives_back_its_trace_and_the_payload_as_it_was() {
        String stored = StoredPayload.of("trace-1", "{\"orderId\":7,\"price\":88.50}");

        assertThat(StoredPayload.parse(stored))
                .isEqualTo(new StoredPayload("trace-1", "{\"orderId\":7,\"price\":88.50}"));
        assertThat(StoredPayload.parse("{\"orderId\":7}")).isEqualTo(new StoredPayload(null, "{\"orderId\":7}"));
    }

    private static Duration timeout(Map<String, String> settings) {
        return bind("order.timeout", OrderTimeoutSettings.class, settings).timeout();
    }

    private static <T> T bind(String prefix, Class<T> type, Map<String, String> settings) {
        return new Binder(new MapConfigurationPropertySource(settings)).bindOrCreate(prefix, type);
    }
}
