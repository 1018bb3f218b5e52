package outbox.testing.server;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import outbox.testing.fault.ChildJvm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

@Tag("process")
class ServerCacheTest {
    private static final Duration LIMIT = Duration.ofSeconds(30);

    @TempDir
    Path cache;

    @BeforeEach
    void useACacheOfOurOwn() {
        System.setProperty(ServerCache.LOCATION, cache.toString());
    }

    @AfterEach
    void useTheCommonCacheAgain() {
        System.clearProperty(ServerCache.LOCATION);
    }

    @Test
    void a_directory_is_made_once() throws IOException {
        var made = ServerCache.directory("program", empty -> Files.writeString(empty.resolve("file"), "content"));
        var again = ServerCache.directory("program", empty -> {
            throw new AssertionError("made twice");
        });

        assertThat(again).isEqualTo(made);
        assertThat(again.resolve("file")).hasContent("content");
    }

    @Test
    void a_directory_whose_making_failed_does_not_exist_and_the_next_try_begins_afresh() {
        assertThatThrownBy(() -> ServerCache.directory("program", empty -> {
                    Files.writeString(empty.resolve("half"), "of it");
                    throw new IOException("disk full");
                }))
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("program");

        var made = ServerCache.directory("program", empty -> Files.writeString(empty.resolve("file"), "all of it"));

        assertThat(made).isDirectoryContaining(file -> file.endsWith("file"));
        assertThat(made).isDirectoryNotContaining(file -> file.endsWith("half"));
    }

    @Test
    void of_two_jvms_that_want_the_same_directory_one_makes_it_and_the_other_waits() throws IOException {
        var gate = cache.resolve("gate");
        try (var closed = FileChannel.open(gate, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                var first = maker(gate)) {
            var lock = closed.lock();
            first.awaitLine("making", LIMIT);
            try (var second = maker(gate)) {
                second.awaitLine("asking", LIMIT);
                assertThatThrownBy(() -> second.awaitLine("making", Duration.ofMillis(300)))
                        .isInstanceOf(AssertionError.class);

                lock.release();

                first.awaitLine("has it whole", LIMIT);
                second.awaitLine("has it whole", LIMIT);
                assertThat(second.lines()).doesNotContain("making");
            }
        }
    }

    private ChildJvm maker(Path gate) {
        return ChildJvm.of(SlowMaker.class)
                .jvmOptions("-D" + ServerCache.LOCATION + "=" + cache)
                .arguments(gate.toString())
                .start();
    }

    static final class SlowMaker {
        public static void main(String[] arguments) {
            System.out.println("asking");
            var made = ServerCache.directory("program", empty -> {
                System.out.println("making");
                passGate(Path.of(arguments[0]));
                Files.writeString(empty.resolve("file"), "content");
            });
            System.out.println(Files.exists(made.resolve("file")) ? "has it whole" : "has it broken");
        }

        private static void passGate(Path gate) throws IOException {
            try (var channel = FileChannel.open(gate, StandardOpenOption.WRITE)) {
                channel.lock();
            }
        }
    }
}
