package outbox.testing.fault;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import outbox.testing.internal.Processes;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

@Tag("process")
class ChildJvmTest {
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final int KILLED = 128 + 9;
    private static final int TERMINATED = 128 + 15;

    @Test
    void it_runs_the_main_class_with_its_arguments_and_a_small_heap() {
        try (var child = ChildJvm.start(Echo.class, "one", "two")) {
            assertThat(child.waitFor(LIMIT)).isEqualTo(7);
            assertThat(child.isAlive()).isFalse();
            assertThat(child.lines()).contains("one", "two", "to standard error");
            assertThat(heapMegabytes(child)).isLessThanOrEqualTo(96);
        }
    }

    @Test
    void its_options_can_be_replaced() {
        try (var child = ChildJvm.of(Echo.class)
                .jvmOptions("-Xmx200m", "-XX:+UseSerialGC")
                .start()) {
            child.waitFor(LIMIT);

            assertThat(heapMegabytes(child)).isBetween(150L, 200L);
        }
    }

    @Test
    void each_wait_for_a_line_goes_on_behind_the_last_one() {
        try (var child = ChildJvm.start(Echo.class, "tick 1", "tick 2")) {
            assertThat(child.awaitLine("tick", LIMIT)).isEqualTo("tick 1");
            assertThat(child.awaitLine("tick", LIMIT)).isEqualTo("tick 2");
        }
    }

    @Test
    void a_wait_for_a_line_fails_at_once_with_the_output_when_the_child_ends() {
        try (var child = ChildJvm.start(Echo.class, "something else")) {
            assertThatThrownBy(() -> child.awaitLine("never printed", Duration.ofMinutes(10)))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("never printed")
                    .hasMessageContaining("ended with code 7")
                    .hasMessageContaining("something else");
        }
    }

    @Test
    void waits_are_bounded() {
        try (var child = ChildJvm.start(Sleeper.class)) {
            child.awaitLine("ready", LIMIT);

            assertThatThrownBy(() -> child.awaitLine("never printed", Duration.ofMillis(50)))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("still runs");
            assertThatThrownBy(() -> child.waitFor(Duration.ofMillis(50)))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("did not end");
        }
    }

    @Test
    void a_killed_child_runs_no_shutdown_hook() {
        try (var child = ChildJvm.start(Sleeper.class)) {
            child.awaitLine("ready", LIMIT);

            child.kill();

            assertThat(child.waitFor(LIMIT)).isEqualTo(KILLED);
            assertThat(child.lines()).doesNotContain("hook");
        }
    }

    @Test
    void a_terminated_child_runs_its_shutdown_hooks() {
        try (var child = ChildJvm.start(Sleeper.class)) {
            child.awaitLine("ready", LIMIT);

            child.terminate();

            assertThat(child.waitFor(LIMIT)).isEqualTo(TERMINATED);
            assertThat(child.lines()).contains("hook");
        }
    }

    @Test
    void a_frozen_child_does_nothing_until_it_is_resumed() {
        try (var child = ChildJvm.start(Sleeper.class)) {
            child.awaitLine("ready", LIMIT);
            child.freeze();
            child.terminate();

            assertThatThrownBy(() -> child.waitFor(Duration.ofMillis(300))).isInstanceOf(AssertionError.class);
            child.resume();
            assertThat(child.waitFor(LIMIT)).isEqualTo(TERMINATED);
        }
    }

    @Test
    void a_child_goes_with_the_jvm_that_started_it_though_that_is_killed() {
        long grandchild;
        try (var child = ChildJvm.start(Parent.class)) {
            grandchild = lastNumber(child.awaitLine("grandchild", LIMIT));
            assertThat(ProcessHandle.of(grandchild)).isPresent();

            child.kill();
        }

        await().atMost(LIMIT).until(() -> Processes.hasEnded(grandchild));
    }

    @Test
    void closing_ends_even_a_frozen_child() {
        var child = ChildJvm.start(Sleeper.class);
        child.awaitLine("ready", LIMIT);
        child.freeze();

        child.close();
        child.close();

        assertThat(child.isAlive()).isFalse();
    }

    private static long heapMegabytes(ChildJvm child) {
        return lastNumber(child.awaitLine("heap", LIMIT));
    }

    private static long lastNumber(String line) {
        return Long.parseLong(line.substring(line.lastIndexOf(' ') + 1));
    }

    static final class Echo {
        public static void main(String[] arguments) {
            for (var argument : arguments) {
                System.out.println(argument);
            }
            System.err.println("to standard error");
            System.out.println("heap " + Runtime.getRuntime().maxMemory() / (1024 * 1024));
            System.exit(7);
        }
    }

    static final class Sleeper {
        public static void main(String[] arguments) throws InterruptedException {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
            System.out.println("ready");
            new CountDownLatch(1).await(2, TimeUnit.MINUTES);
        }
    }

    static final class Parent {
        public static void main(String[] arguments) throws InterruptedException {
            try (var child = ChildJvm.start(Sleeper.class)) {
                child.awaitLine("ready", LIMIT);
                System.out.println("grandchild " + child.pid());
                new CountDownLatch(1).await(2, TimeUnit.MINUTES);
            }
        }
    }
}
