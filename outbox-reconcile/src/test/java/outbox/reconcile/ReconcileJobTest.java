package outbox.reconcile;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.fake.MemoryEventStore;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

class ReconcileJobTest {

    private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

    private static ReconcileJob.Builder job() {
        return ReconcileJob.builder("enrollment").every(Duration.ofMinutes(1)).finder(search -> Found.last(List.of()));
    }

    private static FactSearch search() {
        return new FactSearch("enrollment", NOW.minusSeconds(60), NOW, "7", 2);
    }

    private static EventEnvelope event(String id) {
        return EventEnvelope.builder("EnrollmentCreated")
                .eventId(id)
                .payloadJson("{}")
                .build();
    }

    @Test
    void the_id_of_a_fact_is_the_same_for_ever() {
        assertThat(search().eventId("enrollment:42")).isEqualTo("346eca9b-f757-8380-b628-d49befec3539");
        assertThat(search().eventId("enrollment:42")).isEqualTo(search().eventId("enrollment:42"));
    }

    @Test
    void facts_and_jobs_have_ids_of_their_own() {
        FactSearch other = new FactSearch("payout", NOW.minusSeconds(60), NOW, null, 2);

        assertThat(List.of(search().eventId("1"), search().eventId("2"), other.eventId("1")))
                .doesNotHaveDuplicates()
                .allMatch(id -> UUID.fromString(id).version() == 8);
    }

    @Test
    void an_event_with_an_id_of_its_own_is_refused() {
        FactSearch search = search();
        Found own = Found.last(List.of(event("01ARZ3NDEKTSV4RRFFQ69G5FAV")));

        assertThatIllegalStateException()
                .isThrownBy(() -> search.check(own))
                .withMessageContaining("01ARZ3NDEKTSV4RRFFQ69G5FAV")
                .withMessageContaining("search.eventId");
    }

    @Test
    void an_answer_is_bounded_and_moves_the_checkpoint() {
        FactSearch search = search();
        List<EventEnvelope> three =
                List.of(event(search.eventId("1")), event(search.eventId("2")), event(search.eventId("3")));

        assertThatIllegalStateException()
                .isThrownBy(() -> search.check(Found.last(three)))
                .withMessageContaining("3 events");
        assertThatIllegalStateException()
                .isThrownBy(() -> search.check(Found.more(List.of(), "7")))
                .withMessageContaining("'7'");
        assertThat(search.check(Found.more(three.subList(0, 2), "9")).hasMore()).isTrue();
    }

    @Test
    void a_checkpoint_fits_its_column() {
        assertThatIllegalArgumentException().isThrownBy(() -> Found.more(List.of(), ""));
        assertThatIllegalArgumentException().isThrownBy(() -> Found.more(List.of(), "x".repeat(513)));
        assertThatIllegalArgumentException().isThrownBy(() -> Found.last(List.of(), "a\nb"));
    }

    @Test
    void wrong_settings_are_refused_by_name() {
        refused("name", () -> ReconcileJob.builder("Enrollment"));
        refused("name", () -> ReconcileJob.builder("x".repeat(65)));
        refused("interval", () -> job().every(Duration.ofMillis(999)));
        refused("window", () -> job().window(Duration.ZERO));
        refused("minimumAge", () -> job().minimumAge(Duration.ofNanos(-1)));
        refused("batchSize", () -> job().batchSize(0));
        refused("batchSize", () -> job().batchSize(1001));
        refused("timeLimit", () -> job().timeLimit(Duration.ofHours(1)));
        refused(
                "minimumAge",
                () -> job().window(Duration.ofMinutes(5))
                        .minimumAge(Duration.ofMinutes(5))
                        .build());
        refused(
                "schedule",
                () -> ReconcileJob.builder("a")
                        .finder(search -> Found.last(List.of()))
                        .build());
        refused(
                "finder",
                () -> ReconcileJob.builder("a").every(Duration.ofMinutes(1)).build());
        refused("lookEvery", () -> Reconciler.builder().lookEvery(Duration.ZERO));
        refused("keepRuns", () -> Reconciler.builder().keepRuns(0));
        refused("two jobs", () -> Reconciler.builder().job(job().build()).job(job().build()));
    }

    @Test
    void a_store_that_cannot_tell_whether_an_event_exists_is_refused() {
        refused("outbox.fake.MemoryEventStore", () -> Reconciler.builder().eventStore(new MemoryEventStore()));
    }

    private static void refused(String setting, Runnable call) {
        assertThatIllegalArgumentException().isThrownBy(call::run).withMessageContaining(setting);
    }
}
