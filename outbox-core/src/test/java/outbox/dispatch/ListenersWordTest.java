package outbox.dispatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.DeliveryOutcome;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.GiveUpException;
import outbox.OutcomeEventListener;
import outbox.RetryLaterException;
import outbox.model.EventStatus;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static outbox.fake.Eventually.eventually;

/** The exceptions and return values of a listener decide about its event, for each kind of listener. */
class ListenersWordTest {

    private static final Duration LATER = Duration.ofHours(2);
    private final DispatcherRig rig = new DispatcherRig();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void every_kind_of_listener_may_give_up() {
        assertDead(event -> {
            throw new GiveUpException("enough");
        });
        assertDead((OutcomeEventListener) event -> DeliveryOutcome.giveUp("enough"));
        assertDead((AsyncEventListener) event -> CompletableFuture.completedFuture(DeliveryOutcome.giveUp("enough")));
        assertDead((AsyncEventListener) event -> CompletableFuture.failedFuture(new GiveUpException("enough")));
        assertDead((AsyncEventListener)
                event -> // the failure comes wrapped
                CompletableFuture.failedFuture(new GiveUpException("enough")).thenApply(same -> same));
        assertDead((BatchEventListener) events ->
                BatchEventListener.Outcome.allDelivered().with(events.get(0), DeliveryOutcome.giveUp("enough")));
        assertDead((BatchEventListener) events -> {
            throw new GiveUpException("enough");
        });
    }

    @Test
    void every_kind_of_listener_may_choose_the_time_of_the_next_try() {
        assertLater(event -> {
            throw new RetryLaterException(LATER, "busy");
        });
        assertLater((OutcomeEventListener) event -> DeliveryOutcome.retryAfter(LATER, "busy"));
        assertLater((OutcomeEventListener) event -> DeliveryOutcome.failedRetryAfter(LATER, "busy"));
        assertLater((AsyncEventListener)
                event -> CompletableFuture.completedFuture(DeliveryOutcome.retryAfter(LATER, "busy")));
        assertLater((BatchEventListener) events -> BatchEventListener.Outcome.allDelivered()
                .with(events.get(0), DeliveryOutcome.retryAfter(LATER, "busy")));
    }

    @Test
    void an_interceptor_may_say_so_too() {
        rig.on("T", event -> {});
        OutboxDispatcher dispatcher = rig.start(builder -> builder.interceptor(new EventInterceptor() {
            @Override
            public void beforeDispatch(EventEnvelope event) {
                throw new GiveUpException("enough");
            }
        }));
        QueuedEvent event = rig.hot("T");
        dispatcher.enqueueHot(event);

        eventually(() -> assertThat(row(event).status()).isEqualTo(EventStatus.DEAD));
    }

    @Test
    void an_outcome_that_says_delivered_is_just_that() {
        QueuedEvent event = delivered((OutcomeEventListener) any -> DeliveryOutcome.delivered());

        eventually(() -> assertThat(row(event).status()).isEqualTo(EventStatus.DONE));
    }

    @Test
    @SuppressWarnings("NullAway") // on purpose
    void no_outcome_is_a_failed_attempt() {
        QueuedEvent event = delivered((OutcomeEventListener) any -> null);

        eventually(() -> assertThat(row(event).error()).contains("returned null instead of an outcome"));
    }

    @Test
    void a_bound_of_less_than_one_is_refused_at_once_or_when_it_is_used() {
        assertThatThrownBy(() -> rig.on("zero", new Bounded(0)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("maxInFlight of a listener must be at least 1, not 0");
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.listenerRegistry((aggregate, type) -> new Bounded(-1)));
        QueuedEvent event = rig.hot("T");
        dispatcher.enqueueHot(event);

        eventually(
                () -> assertThat(row(event).error()).contains("maxInFlight of a listener must be at least 1, not -1"));
    }

    private record Bounded(int maxInFlight) implements AsyncEventListener {
        @Override
        public CompletionStage<?> onEventAsync(EventEnvelope event) {
            return CompletableFuture.completedFuture("never called");
        }
    }

    private void assertDead(EventListener listener) {
        QueuedEvent event = delivered(listener);

        eventually(() -> assertThat(row(event).status()).isEqualTo(EventStatus.DEAD));
        assertThat(row(event).error()).contains("GiveUpException").contains("enough");
    }

    private void assertLater(EventListener listener) {
        Instant before = Instant.now();

        QueuedEvent event = delivered(listener);

        eventually(() -> assertThat(row(event).status()).isEqualTo(EventStatus.RETRY));
        assertThat(row(event).availableAt())
                .isBetween(before.plus(LATER), Instant.now().plus(LATER));
    }

    private QueuedEvent delivered(EventListener listener) {
        OutboxDispatcher dispatcher = rig.start(builder -> builder.listenerRegistry((aggregate, type) -> listener));
        QueuedEvent event = rig.hot("T");
        List.of(event).forEach(dispatcher::enqueueHot);
        return event;
    }

    private outbox.fake.MemoryEventStore.Row row(QueuedEvent event) {
        return rig.store.row(event.envelope().eventId());
    }
}
