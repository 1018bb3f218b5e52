package outbox.dispatch;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.dispatch.QueuedEvent.Source;
import outbox.internal.Scheduler;
import outbox.model.OutboxEvent;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

class ReadyDeliveriesTest {

    private final ReadyDeliveries ready = new ReadyDeliveries();

    private void add(String id, int priority) {
        EventEnvelope event = EventEnvelope.builder("T")
                .eventId(id)
                .payloadJson("{}")
                .priority(priority)
                .build();
        ready.add(new Delivery(new QueuedEvent(event, Source.COLD, 0), null, false, Scheduler.system()));
    }

    private List<String> takeAll() {
        List<String> taken = new ArrayList<>();
        for (Delivery next = ready.poll(); next != null; next = ready.poll()) {
            taken.add(next.eventId());
        }
        return taken;
    }

    @Test
    void without_priorities_they_come_as_they_arrived() {
        add("a", 0);
        add("b", 0);
        add("c", 0);

        assertThat(takeAll()).containsExactly("a", "b", "c");
    }

    @Test
    void a_priority_does_not_wait_behind_plain_ones() {
        for (int i = 0; i < 1000; i++) {
            add("plain" + i, 0);
        }
        add("urgent", 1);

        assertThat(takeAll()).startsWith("urgent", "plain0", "plain1").hasSize(1001);
    }

    @Test
    void larger_ones_come_first_and_each_fourth_goes_by_its_arrival() {
        add("old", 0);
        add("low", 1);
        for (int i = 1; i <= 8; i++) {
            add("high" + i, 9);
        }

        assertThat(takeAll())
                .containsExactly("high1", "high2", "high3", "old", "high4", "high5", "high6", "low", "high7", "high8");
    }

    @Test
    void a_priority_of_a_foreign_writer_is_taken_for_the_largest() {
        EventEnvelope event = EventEnvelope.restore(new OutboxEvent(
                "foreign",
                "T",
                null,
                null,
                null,
                "{}",
                null,
                0,
                Instant.EPOCH,
                null,
                null,
                null,
                null,
                null,
                4711,
                null));
        add("nine", 9);
        ready.add(new Delivery(new QueuedEvent(event, Source.COLD, 0), null, false, Scheduler.system()));
        add("plain", 0);

        assertThat(takeAll()).containsExactly("nine", "foreign", "plain");
    }
}
