package outbox.cli;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class DatabaseHostsTest {

    private static final String ELSEWHERE = "jdbc:postgresql://db.example.com:5432/shop";

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:h2:mem:a",
                "jdbc:h2:file:/tmp/db.example.com/a",
                "jdbc:h2:tcp://localhost:9092/~/a",
                "jdbc:postgresql:shop",
                "jdbc:postgresql:///shop",
                "jdbc:postgresql://LOCALHOST/shop",
                "jdbc:postgresql://127.0.0.1:5432/shop?user=a@db.example.com",
                "jdbc:postgresql://[::1]:5432/shop",
                "jdbc:mariadb://127.0.0.5,localhost:3307/shop",
                "jdbc:mysql://user:secret@localhost/shop",
                "jdbc:mariadb://address=(host=localhost)(port=3306)(type=master)/shop"
            })
    void a_database_on_this_machine_may_be_changed(String url) {
        assertThatCode(() -> DatabaseHosts.requireAllowed(url, "")).doesNotThrowAnyException();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ' ',
            value = {
                "jdbc:postgresql://db.example.com/shop db.example.com",
                "jdbc:postgresql://localhost,Other:5433/shop other",
                "jdbc:postgresql://192.0.2.1/shop 192.0.2.1",
                "jdbc:postgresql://[2001:db8::1]:5432/shop 2001:db8::1",
                "jdbc:postgresql://?service=production service=production",
                "jdbc:postgresql://localhost.example.com/shop localhost.example.com",
                "jdbc:mariadb:replication://localhost,replica:3307/shop replica",
                "jdbc:mysql://localhost@db/shop db",
                "jdbc:mariadb://address=(host=db)(port=3306)/shop db",
                "jdbc:mysql://(host=db,port=3306)/shop db",
                "jdbc:h2:tcp://db:9092/~/a db",
                "jdbc:h2:ssl:db/~/a db"
            })
    void a_database_elsewhere_may_be_changed_only_if_its_host_is_named(String url, String host) {
        assertThatThrownBy(() -> DatabaseHosts.requireAllowed(url, "another"))
                .isInstanceOf(SettingsException.class)
                .hasMessageContaining("--allow-host " + host);
        assertThatCode(() -> DatabaseHosts.requireAllowed(url, "another, " + host.toUpperCase(java.util.Locale.ROOT)))
                .doesNotThrowAnyException();
    }

    @Test
    void every_command_that_changes_a_database_refuses_one_elsewhere_before_it_connects() {
        String[] who = {"--table", "outbox_event", "--reason", "x", "--yes", "--url", ELSEWHERE};
        List<Run> runs = List.of(
                Run.of(with(who, "replay", "e-1")),
                Run.of(with(who, "discard", "e-1")),
                Run.of(with(who, "purge", "--retention", "1h")),
                Run.of(with(who, "skip", "e-1")),
                Run.of(with(who, "run-now", "e-1")),
                Run.of(with(who, "errors", "replay", "0123456789ab", "--cap", "1", "--rate", "1")),
                Run.of(with(who, "errors", "discard", "0123456789ab", "--cap", "1")),
                Run.of(with(who, "pause", "--all")),
                Run.of(with(who, "resume", "--all")),
                Run.of(with(who, "release", "node-1")),
                Run.of(with(who, "reconcile", "run", "orders")),
                Run.of("schema", "apply", "--yes", "--url", ELSEWHERE));

        for (Run run : runs) {
            assertThat(run.err()).contains("db.example.com", "--allow-host");
            assertThat(run.exitCode()).isEqualTo(ExitCode.USAGE);
        }
    }

    @Test
    void the_environment_may_name_the_host_too() {
        String url = "jdbc:postgresql://192.0.2.1:1/shop?connectTimeout=1";
        Map<String, String> environment = Map.of("OUTBOX_ALLOW_HOST", "192.0.2.1");

        Run run = Run.with(
                environment,
                question -> Optional.empty(),
                Clock.systemUTC(),
                "replay",
                "e-1",
                "--table",
                "outbox_event",
                "--reason",
                "x",
                "--url",
                url);

        assertThat(run.exitCode()).isEqualTo(ExitCode.FAILED); // the host was accepted; only the connection failed
        assertThat(run.err()).doesNotContain("--allow-host");
    }

    private static String[] with(String[] rest, String... first) {
        String[] all = java.util.Arrays.copyOf(first, first.length + rest.length);
        System.arraycopy(rest, 0, all, first.length, rest.length);
        return all;
    }
}
