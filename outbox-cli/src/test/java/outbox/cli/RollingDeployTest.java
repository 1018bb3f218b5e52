package outbox.cli;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.jdbc.H2EventStore;
import outbox.model.EventStatus;
import outbox.payload.PayloadCodec;
import outbox.payload.PayloadTypes;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;

import java.sql.Connection;
import java.time.Duration;

import static org.assertj.core.api.Assertions.assertThat;

/** During a deployment an older node leaves events to a newer one, and the doctor reports it. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RollingDeployTest {

    private static final Duration LONG = Duration.ofHours(1);
    private static final EventListener FINE = event -> {};

    private final Shop shop = Shop.inMemory();

    @Test
    void a_type_that_a_node_does_not_know_is_left_untouched_shown_and_taken_by_a_node_that_does() throws Exception {
        String known = shop.write("order.placed");
        String unknown = shop.write("order.shipped");

        pollOnce(LONG, new DefaultListenerRegistry().register("order.placed", FINE));

        assertThat(shop.statusOf(known)).isEqualTo(EventStatus.DONE.code());
        assertThat(shop.statusOf(unknown)).isEqualTo(EventStatus.NEW.code());
        assertThat(shop.ask("SELECT attempts FROM outbox_event WHERE event_id = '" + unknown + "'"))
                .isEqualTo("0");
        assertThat(shop.ask("SELECT COUNT(*) FROM outbox_event WHERE locked_by IS NOT NULL"))
                .isEqualTo("0");
        assertThat(doctor("--types", "order.placed")).contains("route: 1 pending events have the type order.shipped");

        pollOnce(
                LONG,
                new DefaultListenerRegistry().register("order.placed", FINE).register("order.shipped", FINE));

        assertThat(shop.statusOf(unknown)).isEqualTo(EventStatus.DONE.code());
    }

    @Test
    void a_type_that_no_node_took_for_too_long_is_dead_and_still_shown() throws Exception {
        String unknown = shop.write("order.shipped");
        shop.execute("UPDATE outbox_event SET available_at = DATEADD('HOUR', -2, available_at)");

        pollOnce(LONG, new DefaultListenerRegistry().register("order.placed", FINE));

        assertThat(shop.statusOf(unknown)).isEqualTo(EventStatus.DEAD.code());
        assertThat(shop.ask("SELECT attempts FROM outbox_event WHERE event_id = '" + unknown + "'"))
                .isEqualTo("0");
        assertThat(doctor()).contains("route: 1 events of the type order.shipped are dead because no listener");
    }

    @Test
    void a_payload_of_a_version_that_a_node_does_not_know_waits_and_is_shown() throws Exception {
        EventEnvelope newer = EventEnvelope.builder("order.placed")
                .schemaVersion(2)
                .payloadJson("2")
                .build();
        try (Connection connection = shop.connect()) {
            new H2EventStore().insertNew(connection, newer);
        }
        PayloadTypes types = PayloadTypes.builder(new Texts())
                .type("order.placed", String.class)
                .build();

        pollOnce(
                LONG,
                new DefaultListenerRegistry()
                        .register("order.placed", types.listener("order.placed", String.class, (text, event) -> {})));

        assertThat(shop.statusOf(newer.eventId())).isEqualTo(EventStatus.RETRY.code());
        assertThat(shop.ask("SELECT attempts FROM outbox_event")).isEqualTo("0");
        assertThat(doctor()).contains("route: 1 events of the type order.placed have a newer version");
    }

    /** A codec for strings; the payload is the string itself. */
    private static final class Texts implements PayloadCodec {

        @Override
        public String write(Object value) {
            return value.toString();
        }

        @Override
        public <T> T read(String payload, Class<T> type) {
            return type.cast(payload);
        }
    }

    private String doctor(String... more) {
        String[] arguments = new String[more.length + 3];
        arguments[0] = "doctor";
        arguments[1] = "--url";
        arguments[2] = shop.url();
        System.arraycopy(more, 0, arguments, 3, more.length);
        return Run.of(arguments).out();
    }

    /** Polls once. Closing waits for listeners and their marks. */
    private void pollOnce(Duration untakenLimit, DefaultListenerRegistry listeners) {
        try (OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                        .connectionProvider(shop.dataSource()::getConnection)
                        .eventStore(new H2EventStore())
                        .listenerRegistry(listeners)
                        .takeOnlyKnown(untakenLimit)
                        .build();
                OutboxPoller poller = OutboxPoller.builder()
                        .connectionProvider(shop.dataSource()::getConnection)
                        .eventStore(new H2EventStore())
                        .handler(new DispatcherPollerHandler(dispatcher))
                        .build()) {
            poller.poll();
        }
    }
}
