package outbox.relay;

import org.junit.jupiter.api.Test;
import outbox.GiveUpException;
import outbox.spi.ErrorText;

import java.util.ArrayList;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class EventBusTest {

    private static final String CREATED = "org.organization.created.v1";
    private static final String DELETED = "org.organization.deleted.v1";

    private final EventBus bus = new EventBus();
    private final List<String> received = new ArrayList<>();

    @Test
    void an_event_reaches_all_subscribers_of_its_topic_with_what_is_known_about_it() throws Exception {
        bus.subscribe(CREATED, (meta, payload) -> received.add("first " + meta.eventId() + " " + payload));
        bus.subscribe(CREATED, (meta, payload) -> received.add("second " + meta.sequence()));
        bus.subscribe(DELETED, (meta, payload) -> received.add("other"));

        bus.dispatch(message(CREATED));

        assertThat(received).containsExactly("first e-1 {\"a\":1}", "second 7");
    }

    @Test
    void a_topic_without_a_subscriber_is_an_error() {
        bus.subscribe(DELETED, (meta, payload) -> {});

        assertThatThrownBy(() -> bus.dispatch(message(CREATED)))
                .isInstanceOf(NoSubscriberException.class)
                .hasMessageStartingWith("EVENTBUS_NO_SUBSCRIBERS: ")
                .hasMessageContaining(CREATED);
    }

    @Test
    void what_a_subscriber_throws_is_thrown_and_the_others_had_their_turn() {
        bus.subscribe(CREATED, (meta, payload) -> {
            throw new GiveUpException("never");
        });
        bus.subscribe(CREATED, (meta, payload) -> received.add("second"));

        assertThatThrownBy(() -> bus.dispatch(message(CREATED))).isInstanceOf(GiveUpException.class);
        assertThat(received).containsExactly("second");
    }

    @Test
    void an_error_of_a_subscriber_is_thrown() {
        bus.subscribe(CREATED, (meta, payload) -> {
            throw new StackOverflowError("deep");
        });

        assertThatThrownBy(() -> bus.dispatch(message(CREATED))).isInstanceOf(StackOverflowError.class);
    }

    @Test
    void several_failures_are_joined() {
        bus.subscribe(CREATED, (meta, payload) -> {
            throw new IllegalStateException("one");
        });
        bus.subscribe(CREATED, (meta, payload) -> {
            throw new AssertionError("two");
        });
        bus.subscribe(CREATED, (meta, payload) -> received.add("third"));

        assertThatThrownBy(() -> bus.dispatch(message(CREATED)))
                .isInstanceOf(SubscribersFailedException.class)
                .hasMessage("2 of 3 subscribers failed: (1) java.lang.IllegalStateException: one"
                        + " (2) java.lang.AssertionError: two")
                .hasCauseInstanceOf(IllegalStateException.class)
                .satisfies(failure ->
                        assertThat(failure.getSuppressed()).singleElement().isInstanceOf(AssertionError.class));
        assertThat(received).containsExactly("third");
    }

    @Test
    void failures_with_long_messages_are_all_told_within_what_a_relay_keeps() {
        for (int i = 1; i <= 5; i++) {
            String name = "subscriber-" + i;
            bus.subscribe(CREATED, (meta, payload) -> {
                throw new IllegalStateException(name + " ".repeat(5000));
            });
        }

        assertThatThrownBy(() -> bus.dispatch(message(CREATED)))
                .satisfies(failure -> assertThat(SafeErrorText.cut(ErrorText.of(failure), 2048))
                        .contains("subscriber-1", "subscriber-2", "subscriber-3", "subscriber-4", "subscriber-5"));
    }

    /** Subscribers of both shapes. */
    static class Good {
        final List<String> received = new ArrayList<>();

        @Subscribe(CREATED)
        void created(Meta meta, String payload) {
            received.add(meta.topic() + " " + payload);
        }

        @Subscribe(DELETED)
        public void deleted(DispatchedMessage message) {
            received.add(message.meta().topic());
            throw new IllegalStateException("refused");
        }
    }

    @Test
    void marked_methods_are_subscribers_and_their_failures_are_their_own() throws Exception {
        Good good = new Good();
        bus.subscribeAll(good);

        bus.dispatch(message(CREATED));
        assertThatThrownBy(() -> bus.dispatch(message(DELETED)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("refused");

        assertThat(good.received).containsExactly(CREATED + " {\"a\":1}", DELETED);
    }

    /** Overrides a subscriber. */
    static class Better extends Good {
        @Override
        @Subscribe(CREATED)
        void created(Meta meta, String payload) {
            received.add("better");
        }
    }

    @Test
    void an_overridden_method_is_one_subscriber() throws Exception {
        Better better = new Better();
        bus.subscribeAll(better);

        bus.dispatch(message(CREATED));

        assertThat(better.received).containsExactly("better");
    }

    @Test
    @SuppressWarnings({"UnusedMethod", "UnusedVariable"}) // the bus looks for them by reflection
    void a_method_of_a_wrong_shape_is_refused_at_registration() {
        Object returns = new Object() {
            @Subscribe(CREATED)
            boolean created(Meta meta, String payload) {
                return false;
            }
        };
        Object takes = new Object() {
            @Subscribe(CREATED)
            void created(String payload) {}
        };
        Object topic = new Object() {
            @Subscribe("Created")
            void created(Meta meta, String payload) {}
        };

        assertThatThrownBy(() -> bus.subscribeAll(returns))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("EVENTBUS_INVALID_HANDLER_RETURN: ");
        assertThatThrownBy(() -> bus.subscribeAll(takes))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("(Meta, String) or (DispatchedMessage)");
        assertThatThrownBy(() -> bus.subscribeAll(topic)).hasMessageContaining(Topics.RULE);
        assertThatThrownBy(() -> bus.subscribeAll(new Object())).hasMessageContaining("@Subscribe");
        assertThatThrownBy(() -> bus.dispatch(message(CREATED))).isInstanceOf(NoSubscriberException.class);
    }

    @Test
    void topics_are_checked_against_the_rule() {
        for (String good : List.of(CREATED, "a.b.c.v1", "org-2.unit.moved-out.v12")) {
            assertThatCode(() -> Topics.check(good)).doesNotThrowAnyException();
        }
        for (String bad : List.of(
                "",
                "org.created.v1",
                "org.organization.created",
                "org.organization.created.v0",
                "org.organization.created.v01",
                "Org.organization.created.v1",
                "org.organization.cre ated.v1",
                "org.organization.created.v1\n",
                "org..created.v1",
                "org.organization.x.created.v1",
                "a.b." + "c".repeat(121) + ".v1")) {
            assertThatThrownBy(() -> Topics.check(bad)).hasMessageContaining(Topics.RULE);
        }
        assertThat(Topics.check("a.b." + "c".repeat(120) + ".v1")).hasSize(127);
    }

    private static DispatchedMessage message(String topic) {
        return new DispatchedMessage(new Meta("org_outbox", "t-1", topic, "e-1", 7L, 1, null, null), "{\"a\":1}");
    }
}
