package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.jdbc.DoomedNode.Step;
import outbox.model.EventStatus;
import outbox.testing.contract.StoreFixture;
import outbox.testing.contract.StoreFixture.Row;
import outbox.testing.fault.ChildJvm;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A node dies at any step. It runs in its own process and is killed with SIGKILL. No event is lost or invented, and
 * only the interrupted run is repeated.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("process")
abstract class CrashContract {

    private static final List<String> NEIGHBOURS = List.of("neighbour-0", "neighbour-1", "neighbour-2");

    private final Databases database;
    private StoreFixture db;

    CrashContract(Databases database) {
        this.database = database;
    }

    @BeforeEach
    void createDatabase() {
        db = database.fixture();
    }

    @Test
    void a_node_killed_before_the_commit_leaves_nothing_behind() {
        List<String> runs = killAt(Step.AFTER_INSERT);

        assertThat(runs).isEmpty();
        await().until(() -> db.count("1 = 1") == 0);
        assertThat(recover(0)).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(
            value = Step.class,
            names = {"AFTER_COMMIT", "AFTER_ENQUEUE"})
    void a_node_killed_after_the_commit_and_before_the_run_loses_and_repeats_nothing(Step step) {
        List<String> runs = killAt(step);

        assertThat(runs).isEmpty();
        assertThat(recover(4)).containsExactlyInAnyOrder("first", "neighbour-0", "neighbour-1", "neighbour-2");
        assertThat(db.count("attempts > 1")).isZero();
    }

    @ParameterizedTest
    @EnumSource(
            value = Step.class,
            names = {"IN_LISTENER", "AFTER_LISTENER", "BEFORE_MARK", "AFTER_MARK"})
    void a_node_killed_between_the_run_and_its_mark_repeats_what_had_started_and_no_more(Step step) {
        List<String> started = killAt(step);

        List<String> recovered = recover(4);

        assertThat(started).contains("first").doesNotHaveDuplicates();
        assertThat(recovered).doesNotHaveDuplicates().containsAll(notIn(started));
        assertThat(db.row("first"))
                // the repeated run is counted
                .isEqualTo(new Row(EventStatus.DONE, 1, null, null));
    }

    @Test
    void a_node_killed_after_the_mark_was_committed_repeats_nothing_that_was_marked() {
        List<String> started = killAt(Step.AFTER_MARK_COMMIT);

        List<String> recovered = recover(4);

        assertThat(started).contains("first");
        assertThat(recovered).doesNotContain("first").containsAll(notIn(started));
        assertThat(db.row("first")).isEqualTo(new Row(EventStatus.DONE, 0, null, null));
    }

    @ParameterizedTest
    @EnumSource(
            value = Step.class,
            names = {"AFTER_CLAIM", "AFTER_CLAIM_COMMIT", "IN_LISTENER_OF_COLD_EVENT"})
    void a_node_killed_on_the_cold_path_loses_nothing(Step step) {
        givenEvents();

        List<String> started = killAt(step);
        List<String> recovered = recover(4);

        assertThat(started).hasSize(step == Step.IN_LISTENER_OF_COLD_EVENT ? 1 : 0);
        assertThat(recovered).containsExactlyInAnyOrder("first", "neighbour-0", "neighbour-1", "neighbour-2");
        assertThat(db.count("attempts > 1")).isZero();
    }

    @Test
    void an_event_that_kills_every_process_ends_dead_and_none_of_its_neighbours_does() {
        givenEvents();
        db.insert(EventEnvelope.builder("T")
                .eventId("bomb")
                .payloadJson("\"bomb\"")
                .build());
        db.makeDue("bomb", db.now().minus(Duration.ofHours(1))); // makes it the first event of every claim
        int runs = 0;

        while (db.row("bomb").status() != EventStatus.DEAD && runs < 10) {
            try (ChildJvm child = start(Step.BOMB)) {
                await().atMost(30, TimeUnit.SECONDS)
                        .until(() -> !child.isAlive() || db.row("bomb").status() == EventStatus.DEAD);
                if (!child.isAlive()) {
                    assertThat(child.waitFor(Duration.ofSeconds(5))).isEqualTo(137);
                    runs++;
                }
            }
        }

        // the very first run was not a suspect yet, so it was not counted
        assertThat(runs).isEqualTo(DoomedNode.MAX_ATTEMPTS + 1);
        assertThat(db.row("bomb").attempts()).isEqualTo(DoomedNode.MAX_ATTEMPTS);
        assertThat(db.row("bomb").lastError()).contains(DoomedNode.MAX_ATTEMPTS + " recorded runs");
        recover(4);
        assertThat(db.count("status = 1")).isEqualTo(4);
        assertThat(db.count("status = 3")).isEqualTo(1);
    }

    @Test
    void a_node_that_was_frozen_longer_than_its_lease_cannot_overwrite_who_took_over() {
        givenEvents();
        try (ChildJvm child = start(Step.IN_LISTENER_OF_COLD_EVENT)) {
            child.awaitLine("AT IN_LISTENER", Duration.ofSeconds(30));
            child.freeze();

            assertThat(recover(4)).hasSize(4);
            child.resume();

            // the node notices that its lease is lost, and changes nothing
            child.awaitLine("lost", Duration.ofSeconds(30));
        }
        assertThat(db.count("status = 1 AND locked_by IS NULL")).isEqualTo(4);
        assertThat(db.count("attempts > 1")).isZero();
    }

    private void givenEvents() {
        List<EventEnvelope> events = new ArrayList<>();
        events.add(EventEnvelope.builder("T").eventId("first").payloadJson("{}").build());
        NEIGHBOURS.forEach(id -> events.add(
                EventEnvelope.builder("T").eventId(id).payloadJson("{}").build()));
        db.insert(events);
    }

    private ChildJvm start(Step step) {
        String url = ((HikariDataSource) db.dataSource()).getJdbcUrl();
        return ChildJvm.start(DoomedNode.class, url, database.name(), step.name());
    }

    /** Kills the node at this step. Returns the events whose run had started. */
    private List<String> killAt(Step step) {
        try (ChildJvm child = start(step)) {
            child.awaitLine("AT " + step, Duration.ofSeconds(30));
            child.kill();
            return child.lines().stream()
                    .filter(line -> line.startsWith("START "))
                    .map(line -> line.substring("START ".length()))
                    .toList();
        }
    }

    /** Starts a healthy node. Returns the events that it delivered until the given number of events is done. */
    private List<String> recover(int done) {
        try (Node node = Node.withLease(db.dataSource(), db.store(), DoomedNode.LEASE)) {
            node.poller.start();
            await().atMost(30, TimeUnit.SECONDS).until(() -> db.count("status = 1") >= done);
            node.poller.poll();
            return node.deliveredIds();
        }
    }

    private static List<String> notIn(List<String> started) {
        return NEIGHBOURS.stream().filter(id -> !started.contains(id)).toList();
    }
}
