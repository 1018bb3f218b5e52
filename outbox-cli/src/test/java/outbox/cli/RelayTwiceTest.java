package outbox.cli;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.fault.ChildJvm;
import outbox.testing.server.PostgresServer;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Two processes of the command on one module's table. Only one of them delivers at a time, even if the leader is
 * stopped or killed. Each process spells the table name differently.
 */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("process")
class RelayTwiceTest {

    private static final Duration START = Duration.ofSeconds(60);
    private static final Duration POLL_INTERVAL = Duration.ofSeconds(1);
    private static final Duration TAKE_OVER =
            POLL_INTERVAL.multipliedBy(2).plusSeconds(3); // time for output, and for a slow machine
    private static final int EVENTS = 20; // of each step
    private static final Pattern EVENT = Pattern.compile("\"payload\":\\{\"n\": ?(\\d+)}");
    private static final String ADVISORY = "FROM pg_locks WHERE locktype = 'advisory'"
            + " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

    private final Shop shop = Shop.bare(PostgresServer.shared().createDatabase());
    private final List<ChildJvm> relays = new ArrayList<>();
    private int written;

    @AfterEach
    void endProcesses() {
        relays.forEach(ChildJvm::close);
    }

    @Test
    void one_at_a_time_delivers_when_the_leader_loses_its_session_is_frozen_and_is_killed() throws Exception {
        Run.of("schema", "apply", "--table", "org_outbox", "--yes", "--url", shop.url());
        ChildJvm first = start("org_outbox");
        ChildJvm second = start("public.org_outbox");
        deliver();
        assertThat(numbers(second)).isEmpty();

        shop.ask("SELECT COUNT(pg_terminate_backend(pid)) " + ADVISORY);
        deliver();
        assertInOrderOfFirstAppearance(EVENTS);

        ChildJvm frozen = leader();
        ChildJvm other = frozen == first ? second : first;
        List<Integer> before = numbers(frozen);
        frozen.freeze();
        deliver();
        assertThat(numbers(other)).endsWith(latest());
        frozen.resume();
        deliver();
        assertThat(numbers(other)).endsWith(latest());
        assertThat(numbers(frozen)).isEqualTo(before);

        other.kill();
        deliver();
        assertThat(leader()).isSameAs(frozen);
        assertThat(numbers(frozen)).endsWith(latest());

        frozen.terminate();
        assertThat(frozen.waitFor(START)).isZero();
        assertThat(shop.ask("SELECT COUNT(*) " + ADVISORY)).isEqualTo("0");
        assertThat(shop.ask("SELECT MAX(attempts) FROM org_outbox")).isEqualTo("0");
    }

    private ChildJvm start(String table) {
        ChildJvm relay = ChildJvm.of(Main.class)
                .jvmOptions("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                .arguments(
                        "relay",
                        "--url",
                        shop.url(),
                        "--tables",
                        table,
                        "--transport",
                        "stdout",
                        "--poll-interval",
                        POLL_INTERVAL.toMillis() + "ms",
                        "--lock-ttl",
                        "5m", // a new leader does not wait for the claims of the previous one
                        "--bind",
                        "127.0.0.1:0")
                .start();
        relays.add(relay);
        relay.awaitLine("health at http://", START);
        return relay;
    }

    /** Writes events and waits for their delivery, at most for the duration of a take-over. */
    private void deliver() throws Exception {
        for (int i = 0; i < EVENTS; i++) {
            written++;
            shop.execute("INSERT INTO org_outbox (tenant_id, topic, payload, event_id) VALUES (gen_random_uuid(),"
                    + " 'org.organization.created.v1', '{\"n\": " + written + "}', gen_random_uuid())");
        }
        await().atMost(TAKE_OVER)
                .untilAsserted(() -> assertThat(shop.ask("SELECT COUNT(*) FROM org_outbox WHERE published_at IS NULL"))
                        .isEqualTo("0"));
        await().atMost(TAKE_OVER)
                .until(() -> relays.stream().anyMatch(relay -> numbers(relay).contains(written)));
    }

    /** The process that delivered the latest event. */
    private ChildJvm leader() {
        return relays.stream()
                .max(Comparator.comparing(relay ->
                        numbers(relay).stream().mapToInt(number -> number).max().orElse(0)))
                .orElseThrow();
    }

    /** The numbers that a relay delivered, in order. */
    private static List<Integer> numbers(ChildJvm relay) {
        return relay.lines().stream()
                .map(EVENT::matcher)
                .filter(Matcher::find)
                .map(event -> Integer.parseInt(event.group(1)))
                .toList();
    }

    private Integer[] latest() {
        return IntStream.rangeClosed(written - EVENTS + 1, written).boxed().toArray(Integer[]::new);
    }

    /**
     * Checks the numbers above the given one. Each relay delivers in order, and the events that only one relay
     * delivered come before or after all events of the other.
     */
    private void assertInOrderOfFirstAppearance(int beyond) {
        List<Set<Integer>> firsts = new ArrayList<>();
        for (ChildJvm relay : relays) {
            Set<Integer> first = new LinkedHashSet<>(numbers(relay));
            first.removeIf(number -> number <= beyond);
            assertThat(List.copyOf(first)).isSorted();
            firsts.add(first);
        }
        Set<Integer> one = firsts.get(0);
        Set<Integer> two = firsts.get(1);
        assertThat(follows(one, two) || follows(two, one)).isTrue();
    }

    /** Whether all numbers that are only in the later set are larger than those of the earlier set. */
    private static boolean follows(Set<Integer> earlier, Set<Integer> later) {
        int end = earlier.stream().mapToInt(number -> number).max().orElse(0);
        return later.stream().filter(number -> !earlier.contains(number)).allMatch(number -> number > end);
    }
}
