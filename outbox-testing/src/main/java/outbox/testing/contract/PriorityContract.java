package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.spi.Mark;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;

/** Contract tests for priorities: larger ones first, and none starves. */
abstract class PriorityContract extends KeyContract {

    @Test
    void larger_priorities_are_claimed_first_and_a_quarter_goes_by_age() {
        List<EventEnvelope> plain =
                IntStream.range(0, 20).mapToObj(i -> event().build()).toList();
        plain.forEach(this::write);
        EventEnvelope low = event().priority(1).build();
        EventEnvelope high = event().priority(9).build();
        write(low, high);
        List<EventEnvelope> middle = IntStream.range(0, 10)
                .mapToObj(i -> event().priority(5).build())
                .toList();
        middle.forEach(this::write);

        List<String> claimed = claimIds(db.now(), 8);

        assertThat(claimed).hasSize(8);
        assertThat(claimed.subList(0, 6))
                .containsExactly(
                        high.eventId(),
                        middle.get(0).eventId(),
                        middle.get(1).eventId(),
                        middle.get(2).eventId(),
                        middle.get(3).eventId(),
                        middle.get(4).eventId());
        assertThat(claimed.subList(6, 8))
                .containsExactly(plain.get(0).eventId(), plain.get(1).eventId());
    }

    @Test
    void the_part_by_age_goes_to_the_oldest_whether_it_was_tried_before_or_not() {
        List<String> tried = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            EventEnvelope event = event().build();
            write(event);
            tried.add(event.eventId());
        }
        Instant now = db.now();
        claim(now, 6);
        db.inTransaction(connection -> {
            List<Mark> failed = tried.stream()
                    .map(id -> Mark.retry(id, "claim-" + claims, true, Duration.ZERO, "x"))
                    .toList();
            assertThat(store.mark(connection, failed, now)).hasSize(6);
        });
        for (int i = 0; i < 20; i++) {
            write(event().build());
            write(event().priority(9).build());
        }

        for (int i = 0; i < 6; i++) {
            assertThat(claimIds(db.now(), 4)).filteredOn(tried::contains).hasSize(1);
        }
    }

    @Test
    void a_claim_is_full_although_the_oldest_events_have_the_priorities() {
        for (int i = 0; i < 6; i++) {
            write(event().priority(2).build());
        }
        for (int i = 0; i < 6; i++) {
            write(event().build());
        }

        assertThat(claim(db.now(), 8)).hasSize(8);
        assertThat(claim(db.now(), 8)).hasSize(4);
    }

    @Test
    void small_claims_do_not_starve_plain_events() {
        EventEnvelope plain = event().build();
        write(plain);
        for (int i = 0; i < 12; i++) {
            write(event().priority(9).build());
        }

        List<String> claimed = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            claimed.addAll(claimIds(db.now(), 1));
        }

        assertThat(claimed).hasSize(4);
        assertThat(claimed).contains(plain.eventId());
    }
}
