package outbox.http;

import org.junit.jupiter.api.Test;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;

import static org.assertj.core.api.Assertions.assertThat;

class RefusalRecordTest {

    private final RefusalRecord record = new RefusalRecord(Clock.fixed(Instant.EPOCH, ZoneOffset.UTC));

    @Test
    void an_event_refused_before_and_after_a_delivery_of_another_one_is_the_cause() {
        assertThat(record.refused("a", record.begin())).isNotNull();
        record.delivered("b", record.begin());

        assertThat(record.refused("a", record.begin())).isNull();
    }

    @Test
    void a_refusal_that_is_seen_after_a_delivery_but_was_sent_before_it_says_nothing_about_its_event() {
        assertThat(record.refused("a", record.begin())).isNotNull();
        RefusalRecord.Begin again = record.begin();
        RefusalRecord.Begin other = record.begin();
        record.delivered("b", other);

        assertThat(record.refused("a", again)).isNotNull();
    }

    @Test
    void a_delivery_that_was_under_way_when_an_event_was_refused_says_nothing_about_it() {
        RefusalRecord.Begin other = record.begin();
        assertThat(record.refused("a", record.begin())).isNotNull();
        record.delivered("b", other);

        assertThat(record.refused("a", record.begin())).isNotNull();
    }
}
