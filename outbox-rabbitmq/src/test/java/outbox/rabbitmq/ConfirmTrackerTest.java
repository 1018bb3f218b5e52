package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.rabbitmq.ConfirmTracker.Settled;

import java.util.List;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;

class ConfirmTrackerTest {
    private final ConfirmTracker tracker = new ConfirmTracker();

    private static Publish publish(String id) {
        EventEnvelope event =
                EventEnvelope.builder("T").eventId(id).payloadJson("{}").build();
        RabbitMessage message = RabbitMessage.of(new BasicProperties(), new byte[0]);
        return new Publish(event, new RabbitRoute("", "q"), message, Runnable::run, false, 0);
    }

    private static List<String> ids(List<Settled> settled) {
        return settled.stream().map(one -> one.publish().eventId()).toList();
    }

    private void add(int from, int to) {
        for (int tag = from; tag <= to; tag++) {
            assertThat(tracker.add(tag, publish("e" + tag))).isTrue();
        }
    }

    @Test
    void a_single_tag_settles_one_message_whatever_its_place() {
        add(1, 4);

        assertThat(ids(tracker.settle(3, false))).containsExactly("e3");
        assertThat(ids(tracker.close())).containsExactly("e1", "e2", "e4");
    }

    @Test
    void multiple_settles_everything_up_to_the_tag_that_is_still_pending() {
        add(1, 5);
        tracker.settle(2, false);

        assertThat(ids(tracker.settle(4, true))).containsExactly("e1", "e3", "e4");
        assertThat(ids(tracker.close())).containsExactly("e5");
    }

    @Test
    void a_tag_that_comes_again_or_was_never_given_settles_nothing() {
        add(1, 2);
        tracker.settle(1, false);

        assertThat(tracker.settle(1, false)).isEmpty();
        assertThat(tracker.settle(1, true)).isEmpty();
        assertThat(tracker.settle(99, false)).isEmpty();
        assertThat(ids(tracker.close())).containsExactly("e2");
    }

    @Test
    void a_return_goes_with_the_message_of_its_id_when_that_is_settled() {
        add(1, 3);

        tracker.returned("e2", "312 NO_ROUTE");
        tracker.returned("e9", "312 NO_ROUTE");

        assertThat(tracker.settle(3, true)).extracting(Settled::returned).containsExactly("", "312 NO_ROUTE", "");
        assertThat(tracker.holds("e2")).isFalse();
    }

    @Test
    void no_two_messages_of_the_same_id_are_pending() {
        add(1, 1);

        assertThat(tracker.add(2, publish("e1"))).isFalse();
        tracker.settle(1, false);
        assertThat(tracker.add(2, publish("e1"))).isTrue();
    }

    @Test
    void a_closed_channel_takes_nothing_and_gives_up_its_messages_once() {
        add(1, 2);

        assertThat(ids(tracker.close())).containsExactly("e1", "e2");
        assertThat(tracker.close()).isEmpty();
        assertThat(tracker.add(3, publish("e3"))).isFalse();
        assertThat(tracker.settle(2, true)).isEmpty();
    }

    @Test
    void waiting_for_emptiness_ends_with_the_last_message_or_in_time() throws InterruptedException {
        add(1, 1);
        assertThat(tracker.awaitEmpty(TimeUnit.MILLISECONDS.toNanos(20))).isFalse();

        Thread settling = new Thread(() -> tracker.settle(1, false));
        settling.start();
        assertThat(tracker.awaitEmpty(TimeUnit.SECONDS.toNanos(10))).isTrue();
        settling.join(10_000);
    }
}
