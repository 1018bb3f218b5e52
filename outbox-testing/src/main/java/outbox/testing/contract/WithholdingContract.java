package outbox.testing.contract;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.Experimental;
import outbox.OutboxException;
import outbox.admin.AdminAction;
import outbox.admin.AdminRequestFailedException;
import outbox.admin.AdminResult;
import outbox.admin.EventPauses;
import outbox.admin.OutboxAdmin;
import outbox.admin.Pause;
import outbox.admin.PauseRequest;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimRequest.Withheld;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

/**
 * Contract tests for a store that can withhold events and keeps pauses. The store must have
 * {@link EventPauses} and {@link outbox.admin.EventAdministration}, and must
 * number its events.
 */
@Experimental
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class WithholdingContract {

    private static final Duration LEASE = Duration.ofMinutes(5);

    private StoreFixture db;
    private LeasingEventStore store;
    private EventPauses pausing; // of the same store
    private OutboxAdmin admin;
    private int claims;

    /** Returns a new, empty table with its store. The table for pauses must not exist yet. */
    protected abstract StoreFixture createFixture() throws SQLException;

    /** Whether the table for pauses may be missing. */
    protected boolean mayLackPauses() {
        return true;
    }

    /** Creates the table for pauses. May be called twice. */
    protected abstract void createPauses(StoreFixture fixture);

    @BeforeEach
    void createTable() throws SQLException {
        db = createFixture();
        store = db.store();
        pausing = store.capability(EventPauses.class).orElseThrow();
        admin = new OutboxAdmin(db.dataSource()::getConnection, store);
    }

    // ---- claims ----

    @Test
    void a_claim_passes_over_what_is_withheld_by_type_by_route_and_by_tenant() {
        EventEnvelope type = given("Order", "Paid", null);
        EventEnvelope route = given("Order", "Created", null);
        EventEnvelope otherRoute = given("Customer", "Created", null);
        EventEnvelope tenant = given("Order", "Sent", "acme");
        EventEnvelope otherTenant = given("Order", "Sent", "other");
        EventEnvelope none = given("Order", "Sent", null);

        Set<String> claimed =
                claim(10, Ordering.off(), new Withheld(Set.of("Paid"), Set.of("Order:Created"), Set.of("acme")));

        assertThat(claimed).isEqualTo(ids(otherRoute, otherTenant, none));
        assertThat(claim(10, Ordering.off(), Withheld.NOTHING)).isEqualTo(ids(type, route, tenant));
    }

    @Test
    void each_single_way_to_withhold_works_by_itself() {
        EventEnvelope event = given("Order", "Paid", "acme");

        for (Withheld withheld : List.of(
                new Withheld(Set.of("Paid"), Set.of(), Set.of()),
                new Withheld(Set.of(), Set.of("Order:Paid"), Set.of()),
                new Withheld(Set.of(), Set.of(), Set.of("acme")))) {
            assertThat(claim(10, Ordering.off(), withheld)).isEmpty();
            assertThat(claim(10, Ordering.perAggregate(), withheld)).isEmpty();
        }
        Withheld others = new Withheld(Set.of("paid"), Set.of("order:Paid", "Paid"), Set.of("ACME"));
        assertThat(claim(10, Ordering.off(), others)).isEqualTo(ids(event));
    }

    @Test
    void what_is_withheld_does_not_use_up_the_limit() {
        IntStream.range(0, 50).forEach(i -> given("Order", "Paid", null));
        EventEnvelope behind = given("Order", "Sent", null);

        assertThat(claim(5, Ordering.off(), new Withheld(Set.of("Paid"), Set.of(), Set.of())))
                .isEqualTo(ids(behind));
    }

    @Test
    void hundreds_of_names_may_be_withheld() {
        EventEnvelope event = given("Order", "Paid", "acme");
        EventEnvelope withheld = given("Order", "type 333", "acme");
        Set<String> names = IntStream.range(0, 500).mapToObj(i -> "type " + i).collect(Collectors.toSet());

        assertThat(claim(10, Ordering.off(), new Withheld(names, names, names))).isEqualTo(ids(event));
        assertThat(claim(10, Ordering.off(), Withheld.NOTHING)).isEqualTo(ids(withheld));
    }

    @Test
    void an_event_that_is_withheld_holds_back_what_was_written_after_it_in_its_aggregate() {
        EventEnvelope first = given(ordered("1", "Paid"));
        EventEnvelope second = given(ordered("1", "Sent"));
        EventEnvelope elsewhere = given(ordered("2", "Sent"));
        Withheld paid = new Withheld(Set.of("Paid"), Set.of(), Set.of());

        assertThat(claim(10, Ordering.perAggregate(), paid)).isEqualTo(ids(elsewhere));
        assertThat(claim(10, Ordering.perAggregate(), Withheld.NOTHING)).isEqualTo(ids(first));
        assertThat(second).isNotNull();
    }

    // ---- events without a known route ----

    @Test
    void a_claim_takes_only_what_is_known_if_it_says_so() {
        EventEnvelope known = given("Order", "Paid", null);
        given("Order", "Sent", null);
        given("Customer", "Paid", null);
        EventEnvelope withoutAggregate = given(EventEnvelope.ofJson("Paid", "{}"));
        Set<String> routes = Set.of("Order:Paid", "__GLOBAL__:Paid", "Order:Never");

        assertThat(claim(10, Ordering.off(), Withheld.NOTHING.butKnown(Set.of())))
                .isEmpty();
        assertThat(claim(10, Ordering.off(), new Withheld(Set.of("Paid"), Set.of(), Set.of()).butKnown(routes)))
                .isEmpty();
        assertThat(claim(10, Ordering.off(), Withheld.NOTHING.butKnown(routes)))
                .isEqualTo(ids(known, withoutAggregate));
    }

    @Test
    void an_unknown_event_holds_back_what_was_written_after_it_in_its_aggregate() {
        EventEnvelope first = given(ordered("1", "Paid"));
        given(ordered("1", "Sent"));
        EventEnvelope elsewhere = given(ordered("2", "Sent"));

        assertThat(claim(10, Ordering.perAggregate(), Withheld.NOTHING.butKnown(Set.of("Order:Sent"))))
                .isEqualTo(ids(elsewhere));
        assertThat(endUntaken(10, Ordering.perAggregate(), knows("Order:Other")))
                .as("the second is not next, the third is held")
                .containsExactly(first.eventId());
    }

    @Test
    void what_nobody_took_in_time_is_dead_with_the_reason_and_only_that() {
        EventEnvelope oldest = given("Order", "Paid", null);
        EventEnvelope old = given("Order", "Paid", null);
        EventEnvelope known = given("Order", "Sent", null);
        EventEnvelope paused = given("Order", "Paused", null);
        EventEnvelope attempted = given("Order", "Paid", null);
        EventEnvelope held = given("Order", "Paid", null);
        EventEnvelope young = given("Order", "Paid", null);
        for (EventEnvelope event : List.of(old, known, paused, attempted, held)) {
            db.makeDue(event.eventId(), db.now().minusSeconds(7200));
        }
        db.makeDue(oldest.eventId(), db.now().minusSeconds(7300));
        db.inTransaction(connection -> {
            Instant now = store.now(connection);
            Claim claim = Claim.startingNow("held", LEASE);
            store.claimOne(connection, claim, attempted.eventId(), now, now.minus(LEASE), null);
            store.mark(
                    connection,
                    List.of(Mark.retry(attempted.eventId(), "held", false, Duration.ofHours(-2), "boom")),
                    now);
            store.claimOne(connection, claim, held.eventId(), now, now.minus(LEASE), null);
        });
        Withheld except = new Withheld(Set.of("Paused"), Set.of("Order:Sent"), Set.of());

        assertThat(endUntaken(1, Ordering.off(), except)).containsExactly(oldest.eventId());
        assertThat(endUntaken(10, Ordering.off(), except)).containsExactly(old.eventId());
        assertThat(endUntaken(10, Ordering.off(), except)).isEmpty();

        assertThat(db.row(old.eventId())).isEqualTo(new StoreFixture.Row(EventStatus.DEAD, 0, "nobody", null));
        assertThat(db.row(held.eventId()).lockedBy()).isEqualTo("held");
        assertThat(db.count("status IN (0, 2)")).isEqualTo(5);
        assertThat(db.row(young.eventId()).status()).isEqualTo(EventStatus.NEW);
    }

    private static Withheld knows(String route) {
        return new Withheld(Set.of(), Set.of(route), Set.of());
    }

    /** Ends the events that have been due for an hour; in an ordered test, all that are due. */
    private List<String> endUntaken(int limit, Ordering ordering, Withheld except) {
        Instant now = db.now();
        Instant dueBefore = ordering.isOn() ? now : now.minusSeconds(3600);
        ClaimRequest overdue = ClaimRequest.of(dueBefore, now.minus(LEASE), limit)
                .inOrder(ordering)
                .except(except);
        return db.call(connection -> store.endUntaken(connection, overdue, now, "nobody"));
    }

    // ---- pauses ----

    @Test
    void without_a_place_for_pauses_nothing_is_paused_and_a_pause_is_refused_by_name() {
        if (!mayLackPauses()) {
            assertThat(db.<Boolean>call(pausing::hasPauses)).isTrue();
            assertThat(admin.pauses()).isEmpty();
            return;
        }
        assertThat(db.<Boolean>call(pausing::hasPauses)).isFalse();
        assertThat(admin.pauses()).isEmpty();

        assertThatThrownBy(() -> admin.pause(type("Paid").confirmed(true).build()))
                .isInstanceOf(AdminRequestFailedException.class)
                .hasMessageContaining("outbox_pause does not exist")
                .hasMessageContaining("V4__outbox_pause.sql");
        assertThatThrownBy(() -> db.call(pausing::pauses)).isInstanceOf(OutboxException.class);
    }

    @Test
    void a_place_for_pauses_that_is_made_later_is_found_by_the_same_store() {
        assertThat(db.<Boolean>call(pausing::hasPauses)).isNotEqualTo(mayLackPauses());

        createPauses(db);
        createPauses(db);

        assertThat(db.<Boolean>call(pausing::hasPauses)).isTrue();
        assertThat(admin.pauses()).isEmpty();
    }

    @Test
    void what_is_paused_is_listed_with_who_and_why_until_it_is_resumed() {
        createPauses(db);

        AdminResult paused =
                admin.pause(type("Paid").requestId("r1").confirmed(true).build());
        admin.pause(PauseRequest.listener("crm")
                .actor("bob")
                .reason("ünïcode ✓")
                .confirmed(true)
                .build());
        admin.pause(
                PauseRequest.outbox().actor("bob").reason("all").confirmed(true).build());

        assertThat(paused).isEqualTo(new AdminResult("r1", AdminAction.PAUSE, false, 1, 1, true, false));
        assertThat(admin.pauses())
                .extracting(Pause::scope, Pause::name, Pause::by, Pause::reason)
                .containsExactlyInAnyOrder(
                        tuple(Pause.Scope.TYPE, "Paid", "ada", "ticket 17"),
                        tuple(Pause.Scope.LISTENER, "crm", "bob", "ünïcode ✓"),
                        tuple(Pause.Scope.OUTBOX, "", "bob", "all"));
        assertThat(admin.audit("r1").orElseThrow().selection()).isEqualTo("type Paid");

        AdminResult resumed =
                admin.resume(type("Paid").requestId("r2").confirmed(true).build());

        assertThat(resumed).isEqualTo(new AdminResult("r2", AdminAction.RESUME, false, 1, 1, true, false));
        assertThat(admin.pauses()).hasSize(2);
    }

    @Test
    void a_request_happens_once_and_a_dry_run_changes_nothing() {
        createPauses(db);
        assertThat(admin.pause(type("Paid").build()).dryRun()).isTrue();
        assertThat(admin.pauses()).isEmpty();

        admin.pause(type("Paid").requestId("r1").confirmed(true).build());
        admin.resume(type("Paid").requestId("r2").confirmed(true).build());
        AdminResult again =
                admin.pause(type("Paid").requestId("r1").confirmed(true).build());

        assertThat(again.repeated()).isTrue();
        assertThat(admin.pauses()).as("it is not paused anew").isEmpty();
        assertThatThrownBy(() ->
                        admin.pause(type("Sent").requestId("r1").confirmed(true).build()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("r1 was used by ada");
    }

    @Test
    void what_is_paused_already_stays_as_it_is() {
        createPauses(db);
        admin.pause(type("Paid").confirmed(true).build());

        AdminResult second = admin.pause(PauseRequest.type("Paid")
                .actor("bob")
                .reason("me too")
                .confirmed(true)
                .build());
        AdminResult nothing = admin.resume(type("paid").confirmed(true).build());

        assertThat(second.affected()).isZero();
        assertThat(nothing.affected()).isZero();
        assertThat(admin.pauses()).singleElement().extracting(Pause::by).isEqualTo("ada");
    }

    private static PauseRequest.Builder type(String name) {
        return PauseRequest.type(name).actor("ada").reason("ticket 17");
    }

    private EventEnvelope given(String aggregateType, String eventType, @Nullable String tenant) {
        EventEnvelope.Builder event =
                EventEnvelope.builder(eventType).aggregateType(aggregateType).payloadJson("{}");
        return given((tenant == null ? event : event.tenantId(tenant)).build());
    }

    private EventEnvelope given(EventEnvelope event) {
        db.insert(event);
        return event;
    }

    private static EventEnvelope ordered(String aggregateId, String eventType) {
        return EventEnvelope.builder(eventType)
                .aggregateType("Order")
                .aggregateId(aggregateId)
                .payloadJson("{}")
                .build();
    }

    private Set<String> claim(int limit, Ordering ordering, Withheld withheld) {
        Claim claim = Claim.startingNow("claim-" + ++claims, LEASE);
        Instant now = db.now();
        ClaimRequest request = ClaimRequest.of(now.plusSeconds(1), now.minus(LEASE), limit)
                .inOrder(ordering)
                .except(withheld);
        return db.call(connection -> store.claim(connection, claim, request).stream()
                .map(claimed -> claimed.event().eventId())
                .collect(Collectors.toSet()));
    }

    private static Set<String> ids(EventEnvelope... events) {
        Set<String> ids = new HashSet<>();
        for (EventEnvelope event : events) {
            ids.add(event.eventId());
        }
        return ids;
    }
}
