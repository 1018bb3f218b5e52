package outbox.dispatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.EventEnvelope;
import outbox.EventHeaders;
import outbox.EventListener;
import outbox.fake.MemoryEventStore.Row;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.util.JsonCodec;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

/** An event that is replayed to a named listener reaches only that listener, or none. */
class ReplayedToListenerTest {

    private final DispatcherRig rig = new DispatcherRig();
    private final List<String> received = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void the_listener_of_that_name_receives_it_and_sees_the_mark() {
        rig.on("named", named("crm"))
                .on("plain", event -> received.add(event.headers().getOrDefault(EventHeaders.REPLAY, "none")));
        OutboxDispatcher dispatcher = rig.start(builder -> builder);

        QueuedEvent named = replayed("named", "crm");
        QueuedEvent byRoute = replayed("plain", "__GLOBAL__:plain");
        dispatcher.enqueueHot(named);
        dispatcher.enqueueHot(byRoute);

        eventually(() -> assertThat(row(named).status()).isEqualTo(EventStatus.DONE));
        eventually(() -> assertThat(row(byRoute).status()).isEqualTo(EventStatus.DONE));
        assertThat(received).containsExactlyInAnyOrder("crm", "r1");
    }

    @Test
    void no_other_listener_receives_it_whatever_its_kind_and_it_is_dead_with_the_reason() {
        rig.on("plain", named("search"))
                .on("batch", (BatchEventListener) events -> {
                    received.add("batch");
                    return BatchEventListener.Outcome.allDelivered();
                })
                .on("async", new Async());
        OutboxDispatcher dispatcher = rig.start(builder -> builder);

        for (String type : List.of("plain", "batch", "async")) {
            QueuedEvent event = replayed(type, "crm");
            dispatcher.enqueueHot(event);

            eventually(() -> assertThat(row(event).status()).isEqualTo(EventStatus.DEAD));
            assertThat(row(event).error())
                    .contains("replayed to listener 'crm'", "__GLOBAL__:" + type + " has listener");
        }
        assertThat(received).isEmpty();
    }

    private final class Async implements AsyncEventListener {
        @Override
        public CompletionStage<?> onEventAsync(EventEnvelope event) {
            received.add("async");
            return CompletableFuture.completedFuture("done");
        }
    }

    private EventListener named(String name) {
        return new EventListener() {
            @Override
            public void onEvent(EventEnvelope event) {
                received.add(name);
            }

            @Override
            public String listenerName() {
                return name;
            }
        };
    }

    private QueuedEvent replayed(String eventType, String listener) {
        String headers = JsonCodec.toJson(Map.of(EventHeaders.REPLAY, "r1", EventHeaders.REPLAY_TO, listener));
        Instant now = Instant.now();
        OutboxEvent row =
                new OutboxEvent("id-" + eventType, eventType, "__GLOBAL__", null, null, "{}", headers, 0, now);
        rig.store.put(row, now);
        return new QueuedEvent(EventEnvelope.restore(row), QueuedEvent.Source.HOT, 0);
    }

    private Row row(QueuedEvent event) {
        return rig.store.row(event.envelope().eventId());
    }
}
