package outbox.samples.course;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import outbox.testing.fault.ChildJvm;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** The process is killed while its events are in memory. The business data is in a file. */
@Timeout(value = 90, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("process")
class KilledCourseTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int LEARNERS = 40;

    private static ChildJvm start(Path directory, int slowMillis) {
        return ChildJvm.start(
                Main.class,
                "--store=memory",
                "--file=" + directory.resolve("course"),
                "--port=0",
                "--reconcile-every=1000",
                "--minimum-age=1000",
                "--slow=" + slowMillis);
    }

    private static Client client(ChildJvm child) {
        String line = child.awaitLine("Listening on", PATIENCE);
        return new Client(Integer.parseInt(line.replaceAll(".*:", "").strip()));
    }

    @Test
    void what_was_committed_and_not_delivered_when_the_process_was_killed_takes_effect_once(@TempDir Path directory) {
        long session;
        try (ChildJvm child = start(directory, 600_000)) {
            Client client = client(child);
            session = client.openSession(LEARNERS);
            for (int learner = 1; learner <= LEARNERS; learner++) {
                assertThat(client.enroll(session, learner).statusCode()).isEqualTo(201);
            }
            client.post("/sessions/" + session + "/close", "");
            assertThat(client.show(session)).isEqualTo("{\"taken\":40,\"notifications\":0,\"payouts\":0,\"paid\":0}");
            child.kill();
        }

        try (ChildJvm child = start(directory, 0)) {
            Client client = client(child);
            child.awaitLine("Reconcile job enrollment wrote", PATIENCE); // operators can see it

            assertEndsAt(client, session, "{\"taken\":40,\"notifications\":40,\"payouts\":1,\"paid\":400}");
            assertFixed(child, ReconcileJobs.ENROLLMENT, LEARNERS);
            assertFixed(child, ReconcileJobs.SESSION_PAYOUT, 1);
        }
    }

    /** Waits, because the log is written asynchronously. */
    private static void assertFixed(ChildJvm child, String job, int events) {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(fixed(child, job)).isEqualTo(events));
    }

    /** Returns how many events the job has written, according to the log. */
    private static int fixed(ChildJvm child, String job) {
        Pattern wrote = Pattern.compile("Reconcile job " + job + " wrote ([0-9]+) events that were missing");
        return child.lines().stream()
                .map(wrote::matcher)
                .filter(Matcher::find)
                .mapToInt(line -> Integer.parseInt(line.group(1)))
                .sum();
    }

    /** Waits until both jobs have run again and found nothing. */
    private static void assertEndsAt(Client client, long session, String expected) {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(client.show(session)).isEqualTo(expected));
        for (String job : new String[] {ReconcileJobs.ENROLLMENT, ReconcileJobs.SESSION_PAYOUT}) {
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(
                                    client.post("/reconcile/" + job, "").body())
                            .contains("\"found\":0,\"fixed\":0,\"failed\":false"));
        }
        assertThat(client.show(session)).isEqualTo(expected);
    }

    @Test
    void kills_at_any_moment_lose_nothing_and_repeat_nothing(@TempDir Path directory) throws Exception {
        AtomicInteger learners = new AtomicInteger();
        long session = 0;
        for (int kill = 0; kill < 2; kill++) {
            try (ChildJvm child = start(directory, 30)) {
                Client client = client(child);
                if (session == 0) {
                    session = client.openSession(100_000);
                }
                long of = session;
                Thread user = new Thread(() -> enrollUntilKilled(client, of, learners));
                user.start();
                int until = learners.get() + 40 + 7 * kill;
                await().atMost(PATIENCE).until(() -> learners.get() >= until);
                child.kill();
                user.join(PATIENCE.toMillis());
                assertThat(user.isAlive()).isFalse();
            }
        }

        try (ChildJvm child = start(directory, 0)) {
            Client client = client(child);
            String last = client.enroll(session, learners.get() + 1).body(); // may be committed without a response
            assertThat(last).containsAnyOf("CREATED", "ALREADY_EXISTS");
            int enrolled = learners.get() + 1;
            assertEndsAt(
                    client,
                    session,
                    "{\"taken\":%d,\"notifications\":%d,\"payouts\":0,\"paid\":0}".formatted(enrolled, enrolled));
        }
    }

    /** Enrols one learner after the other. A learner without a response tries again in the next round. */
    private static void enrollUntilKilled(Client client, long session, AtomicInteger learners) {
        try {
            while (client.enroll(session, learners.get() + 1).statusCode() < 300) {
                learners.incrementAndGet();
            }
        } catch (IllegalStateException e) {
            assertThat(e).hasRootCauseInstanceOf(IOException.class);
        }
    }
}
