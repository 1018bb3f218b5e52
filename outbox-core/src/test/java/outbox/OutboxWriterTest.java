package outbox;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.fake.CapturedLog;
import outbox.fake.FakeConnections;
import outbox.fake.FakeTx;
import outbox.fake.MemoryEventStore;
import outbox.model.EventStatus;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

@NullUnmarked
class OutboxWriterTest {

    private final MemoryEventStore store = new MemoryEventStore();
    private final List<String> told = new ArrayList<>();
    private final AfterCommitHook hook = event -> told.add(event.eventId());
    private FakeTx tx;

    @BeforeEach
    void begin() {
        tx = FakeTx.active();
    }

    @Test
    void a_written_event_is_stored_as_new_and_its_id_answered() {
        String id = new OutboxWriter(tx, store).write(EventEnvelope.ofJson("t", "{}"));

        assertThat(store.status(id)).isEqualTo(EventStatus.NEW);
        assertThat(store.calls()).containsExactly("insertNew " + id);
    }

    @Test
    void the_shorthands_write_json() {
        OutboxWriter writer = new OutboxWriter(tx, store);

        String byName = writer.write("t", "{\"a\":1}");
        String byType = writer.write(StringEventType.of("u"), "{}");

        assertThat(store.row(byName).event().payloadJson()).isEqualTo("{\"a\":1}");
        assertThat(store.row(byType).event().eventType()).isEqualTo("u");
    }

    @Test
    void ids_are_answered_in_the_order_of_the_events() {
        List<EventEnvelope> events = Stream.of("c", "a", "b")
                .map(id ->
                        EventEnvelope.builder("t").eventId(id).payloadJson("{}").build())
                .toList();

        List<String> ids = new OutboxWriter(tx, store, hook).writeAll(events);
        tx.commit();

        assertThat(ids).containsExactly("c", "a", "b");
        assertThat(store.calls()).containsExactly("insertNew c", "insertNew a", "insertNew b");
        assertThat(told).containsExactly("c", "a", "b");
    }

    @Test
    void no_events_are_no_work() {
        assertThat(new OutboxWriter(tx, store, hook).writeAll(List.of())).isEmpty();

        assertThat(store.calls()).isEmpty();
        assertThat(tx.callbacks()).isZero();
    }

    // ---- rejected calls, all before the store is called ----

    @Test
    void without_a_transaction_a_write_is_refused() {
        OutboxWriter writer = new OutboxWriter(FakeTx.none(), store, hook);

        assertThatExceptionOfType(TransactionStateException.class)
                .isThrownBy(() -> writer.write("t", "{}"))
                .withMessageContaining("No transaction is active");
        assertThatExceptionOfType(TransactionStateException.class).isThrownBy(() -> writer.writeAll(List.of()));
        assertThatIllegalStateException().isThrownBy(() -> writer.write(StringEventType.of("t"), "{}"));
        assertThat(store.calls()).isEmpty();
    }

    @Test
    void with_auto_commit_on_a_write_is_refused() {
        FakeTx autoCommit = FakeTx.on(new FakeConnections().connection(true, false));

        assertThatExceptionOfType(TransactionStateException.class)
                .isThrownBy(() -> new OutboxWriter(autoCommit, store, hook).write("t", "{}"))
                .withMessageContaining("auto-commit");
        assertThat(store.calls()).isEmpty();
        assertThat(autoCommit.callbacks()).isZero();
    }

    @Test
    void in_a_read_only_transaction_a_write_is_refused() {
        FakeTx readOnly = FakeTx.on(new FakeConnections().connection(false, true));

        assertThatExceptionOfType(TransactionStateException.class)
                .isThrownBy(() -> new OutboxWriter(readOnly, store, hook).write("t", "{}"))
                .withMessageContaining("read-only");
        assertThat(store.calls()).isEmpty();
        assertThat(readOnly.callbacks()).isZero();
    }

    @Test
    void an_id_given_twice_is_refused_before_any_insert() {
        EventEnvelope one =
                EventEnvelope.builder("t").eventId("same").payloadJson("1").build();
        EventEnvelope other =
                EventEnvelope.builder("u").eventId("same").payloadJson("2").build();

        assertThatExceptionOfType(InvalidEventException.class)
                .isThrownBy(() -> new OutboxWriter(tx, store, hook).writeAll(List.of(one, other)))
                .withMessageContaining("same");
        assertThat(store.calls()).isEmpty();
        assertThat(tx.callbacks()).isZero();
    }

    @Test
    void an_invalid_payload_is_refused_before_any_insert() {
        assertThatExceptionOfType(InvalidEventException.class)
                .isThrownBy(() -> new OutboxWriter(tx, store, hook).write("t", "\0"));
        assertThat(store.calls()).isEmpty();
    }

    @Test
    void null_is_refused() {
        assertThatNullPointerException().isThrownBy(() -> new OutboxWriter(null, store));
        assertThatNullPointerException().isThrownBy(() -> new OutboxWriter(tx, null));
        assertThatNullPointerException().isThrownBy(() -> new OutboxWriter(tx, store).write((EventEnvelope) null));
        assertThat(store.calls()).isEmpty();
    }

    // ---- the hook ----

    @Test
    void the_hook_is_told_after_the_commit_and_not_before() {
        String id = new OutboxWriter(tx, store, hook).write("t", "{}");
        assertThat(told).isEmpty();

        tx.commit();

        assertThat(told).containsExactly(id);
    }

    @Test
    void without_a_hook_nothing_is_registered() {
        new OutboxWriter(tx, store).write("t", "{}");
        new OutboxWriter(tx, store, null).write("t", "{}");
        new OutboxWriter(tx, store, AfterCommitHook.NOOP).write("t", "{}");
        new OutboxWriter(tx, store, outbox.spi.AfterCommitHook.NOOP).write("t", "{}");

        assertThat(tx.callbacks()).isZero();
    }

    @Test
    void the_hook_that_does_nothing_takes_an_event() {
        AfterCommitHook.NOOP.onCommit(EventEnvelope.ofJson("t", "{}"));

        assertThat(AfterCommitHook.NOOP.birthClaim(1, 0)).isNull();
    }

    static Stream<Throwable> whatAHookThrows() {
        return Stream.of(
                new IllegalStateException("broken"), new StackOverflowError(), new NoClassDefFoundError("gone"));
    }

    @ParameterizedTest
    @MethodSource("whatAHookThrows")
    void what_a_hook_throws_does_not_reach_the_caller_and_the_other_events_are_told(Throwable thrown) {
        AfterCommitHook throwing = event -> {
            told.add(event.eventType());
            if (thrown instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) thrown;
        };
        new OutboxWriter(tx, store, throwing)
                .writeAll(List.of(EventEnvelope.ofJson("one", "{}"), EventEnvelope.ofJson("two", "{}")));

        try (CapturedLog log = CapturedLog.of(OutboxWriter.class)) {
            tx.commit();

            assertThat(log.messages(Level.SEVERE))
                    .hasSize(2)
                    .allMatch(message -> message.contains("poller will deliver"));
        }
        assertThat(told).containsExactly("one", "two");
    }

    @Test
    void a_store_that_fails_is_told_to_the_caller_and_the_hook_is_not_registered() {
        store.beforeEachCall(call -> {
            throw new IllegalStateException("no such table");
        });

        assertThatIllegalStateException()
                .isThrownBy(() -> new OutboxWriter(tx, store, hook).write("t", "{}"))
                .withMessage("no such table");
        assertThat(tx.callbacks()).isZero();
    }
}
