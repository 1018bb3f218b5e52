package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.EventEnvelope;
import outbox.jdbc.BombNode.Kind;
import outbox.model.EventStatus;
import outbox.testing.contract.StoreFixture;
import outbox.testing.fault.ChildJvm;

import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Processes end repeatedly while slow events run on four workers. Only an event that ends the process becomes DEAD.
 * Set the number of crashes with {@code -Doutbox.trials.crashes=50} for a full run.
 */
@Timeout(value = 900, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("process")
abstract class CrashLoopContract {

    private static final int CRASHES = Integer.getInteger("outbox.trials.crashes", 5);
    private static final List<Kind> KINDS = List.of(Kind.PLAIN, Kind.BATCH, Kind.ASYNC);
    private static final int BOMBS = Math.min(2 + CRASHES / 10, BombNode.MAX_ATTEMPTS + 2);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Databases database;
    private StoreFixture db;
    private int crashes;

    CrashLoopContract(Databases database) {
        this.database = database;
    }

    @BeforeEach
    void createDatabase() {
        db = database.fixture();
    }

    /** A trial: the kind of the listener, and the event that ends the process. */
    record Trial(Kind kind, String bomb) {}

    /** Returns all kinds of listeners, repeated until the given number of crashes is reached. */
    static Stream<Trial> trials() {
        List<Trial> all = List.of(
                new Trial(Kind.PLAIN, BombNode.HALT),
                new Trial(Kind.BATCH, BombNode.HALT),
                new Trial(Kind.ASYNC, BombNode.OUT_OF_MEMORY),
                new Trial(Kind.PLAIN, BombNode.OUT_OF_MEMORY),
                new Trial(Kind.BATCH, BombNode.OUT_OF_MEMORY),
                new Trial(Kind.ASYNC, BombNode.HALT));
        int loops = Math.max(KINDS.size(), CRASHES / (BombNode.MAX_ATTEMPTS + 1) + 1);
        return Stream.iterate(0, i -> i + 1).limit(loops).map(i -> all.get(i % all.size()));
    }

    @ParameterizedTest
    @MethodSource("trials")
    void a_bomb_ends_dead_and_its_slow_neighbours_are_delivered(Trial trial) {
        givenSlow("early", 2);
        given("bomb", trial.bomb());
        givenSlow("late", 5);

        while (db.count("status IN (1, 3)") < 8) {
            live(trial.kind(), () -> db.count("status IN (1, 3)") == 8);
            assertNobodyDiedBut("bomb");
        }

        assertThat(db.row("bomb").status()).isEqualTo(EventStatus.DEAD);
        assertThat(crashes).isBetween(BombNode.MAX_ATTEMPTS, BombNode.MAX_ATTEMPTS + 1);
        assertThat(db.row("bomb").lastError()).contains("recorded runs");
        assertThat(db.count("status = 1 AND attempts > 1")).isZero(); // no other event was charged for a crash
    }

    @Test
    void new_bombs_in_every_process_take_no_slow_neighbour_with_them() {
        givenSlow("slow", 4);
        int bombs = 0;

        while (db.count("status = 1") < 4 || db.count("status = 3") < bombs) {
            if (bombs < BOMBS) {
                String bomb = "bomb-" + bombs++;
                given(bomb, BombNode.HALT);
                db.makeDue(bomb, db.now().minus(Duration.ofHours(1))); // so that the bomb runs next to the others
            }
            int due = bombs;
            live(Kind.PLAIN, () -> db.count("status = 1") == 4 && db.count("status = 3") == due);
            assertThat(db.count("event_type = 'slow' AND status = 3"))
                    .as("dead neighbours after " + crashes + " crashes")
                    .isZero();
        }

        assertThat(db.count("event_type = 'slow' AND attempts > 2")).isZero();
    }

    @Test
    void a_crash_loop_without_a_bomb_lets_nobody_die() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        int events = 0;

        while (crashes < CRASHES) {
            for (int i = 0; i < 8; i++) {
                given("event-" + events++, BombNode.SLOW);
            }
            Kind kind = KINDS.get(crashes % KINDS.size());
            try (ChildJvm child = start(kind)) {
                child.awaitLine("START ", PATIENCE);
                // longer than two runs: one that was already running, and one of the event that was charged last
                awaitTime(BombNode.RUN.multipliedBy(3).plusMillis(random.nextInt((int) BombNode.RUN.toMillis() * 3)));
                child.kill();
                crashes++;
            }
            awaitEndOfLeases();
            assertThat(db.count("status = 3"))
                    .as("dead events after " + crashes + " crashes, seed " + seed)
                    .isZero();
        }
        deliverTheRest(Kind.PLAIN, events);

        assertThat(db.count("attempts >= " + BombNode.MAX_ATTEMPTS)).isZero();
    }

    private void givenSlow(String name, int count) {
        for (int i = 0; i < count; i++) {
            given(name + "-" + i, BombNode.SLOW);
        }
    }

    private void given(String id, String type) {
        db.insert(EventEnvelope.builder(type).eventId(id).payloadJson("{}").build());
    }

    /** Runs a node until an event ends it or no work is left. */
    private void live(Kind kind, Callable<Boolean> over) {
        try (ChildJvm child = start(kind)) {
            await().atMost(PATIENCE).until(() -> !child.isAlive() || over.call());
            if (!child.isAlive()) {
                assertThat(child.waitFor(Duration.ofSeconds(5)))
                        .as(() -> String.join("\n", child.lines()))
                        .isIn(137, 3);
                crashes++;
            }
        }
        awaitEndOfLeases();
    }

    private ChildJvm start(Kind kind) {
        String url = ((HikariDataSource) db.dataSource()).getJdbcUrl();
        return ChildJvm.of(BombNode.class)
                .jvmOptions("-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError")
                .arguments(url, database.name(), kind.name())
                .start();
    }

    /** Waits for one lease duration. The dead node cannot have renewed its leases in the meantime. */
    private static void awaitEndOfLeases() {
        awaitTime(BombNode.LEASE);
    }

    private static void awaitTime(Duration time) {
        long end = System.nanoTime() + time.toNanos();
        await().pollInterval(Duration.ofMillis(5)).atMost(PATIENCE).until(() -> System.nanoTime() - end > 0);
    }

    private void deliverTheRest(Kind kind, int done) {
        try (ChildJvm child = start(kind)) {
            await().atMost(PATIENCE.multipliedBy(2)).until(() -> !child.isAlive() || db.count("status = 1") == done);
            assertThat(db.count("status = 1"))
                    .as(() -> String.join("\n", child.lines()))
                    .isEqualTo(done);
        }
    }

    private void assertNobodyDiedBut(String bomb) {
        assertThat(db.count("status = 3 AND event_id <> '" + bomb + "'"))
                .as("dead neighbours after " + crashes + " crashes")
                .isZero();
    }
}
