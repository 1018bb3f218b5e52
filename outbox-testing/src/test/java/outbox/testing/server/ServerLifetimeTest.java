package outbox.testing.server;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.testing.fault.ChildJvm;
import outbox.testing.internal.Processes;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

@Tag("process")
class ServerLifetimeTest {
    private static final Duration LIMIT = Duration.ofSeconds(30);

    @ParameterizedTest
    @ValueSource(strings = {"exit", "halt", "kill"})
    void servers_and_their_files_go_with_the_jvm_however_it_ends(String end) {
        try (var child = ChildJvm.of(StartsServers.class)
                .jvmOptions("-Doutbox.postgres.url=") // none is given
                .arguments(end)
                .start()) {
            var servers = List.of(startedBy(child), startedBy(child));

            if (end.equals("kill")) {
                child.kill();
            }

            child.waitFor(LIMIT);
            await().atMost(LIMIT).untilAsserted(() -> assertThat(servers).allMatch(Started::isGone));
        }
    }

    private static Started startedBy(ChildJvm child) {
        var words = child.awaitLine("server ", LIMIT).split(" ", 3);
        return new Started(Long.parseLong(words[1]), Path.of(words[2]));
    }

    private record Started(long pid, Path directory) {
        boolean isGone() {
            return Processes.hasEnded(pid) && Files.notExists(directory);
        }
    }

    static final class StartsServers {
        public static void main(String[] arguments) throws IOException, InterruptedException {
            print(PostgresServer.shared());
            print(PostgresServer.start());
            switch (arguments[0]) {
                case "exit" -> System.exit(0);
                case "halt" -> Runtime.getRuntime().halt(0);
                default -> new CountDownLatch(1).await(2, TimeUnit.MINUTES);
            }
        }

        private static void print(DatabaseServer server) throws IOException {
            var data = Path.of("/proc", Long.toString(server.pid()), "cwd").toRealPath();
            System.out.println("server %d %s".formatted(server.pid(), data.getParent()));
        }
    }
}
