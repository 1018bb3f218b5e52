package outbox.cli;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Clock;
import java.util.Map;
import java.util.Optional;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A password in a URL is refused wherever the URL is set, and messages of drivers never show it. No server listens on
 * port 1.
 */
class UrlPasswordsTest {

    @TempDir
    @SuppressWarnings("NullAway.Init") // set by JUnit
    private Path directory;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:postgresql://127.0.0.1:1/none?password=hush",
                "jdbc:postgresql://127.0.0.1:1/none?user=ada&password=hush&ssl=false",
                "jdbc:postgresql://127.0.0.1:1/none?user=ada&password=h%75sh",
                "jdbc:postgresql://127.0.0.1:1/none?user=ada&p%61ssword=hush",
                "jdbc:postgresql://127.0.0.1:1/none?user=ada&%2570assword=hush",
                "jdbc:postgresql://ada:hush@127.0.0.1:1/none",
                "jdbc:postgresql://ada:hush@127.0.0.1:1,ada:hush@127.0.0.2:1/none?user=b",
                "jdbc:postgresql://ada:h/u?s#hush@127.0.0.1:1/none",
                "jdbc:mariadb://127.0.0.1:1/none?user=ada&password=hush",
                "jdbc:mariadb://127.0.0.1:1/none?user=ada&PASSWORD=hush",
                "jdbc:mariadb://ada:hush@127.0.0.1:1/none",
                "jdbc:mariadb://address=(host=127.0.0.1)(port=1)(user=ada)(password=hush)/none",
                "jdbc:mariadb:replication://ada:hush@127.0.0.1:1,127.0.0.1:2/none",
                "jdbc:mysql://ada:hush@127.0.0.1:1/none",
                "jdbc:mysql://ada:h%75sh@127.0.0.1:1/none",
                "jdbc:mysql://(host=127.0.0.1,port=1,user=ada,password=hush)/none",
                "jdbc:mysql://[(host=127.0.0.1,port=1,user=ada, password = hush)]/none",
                "jdbc:mysql://address=(host=127.0.0.1)(port=1)(user=ada)(password=hush)/none",
                "jdbc:mysql:loadbalance://ada:hush@127.0.0.1:1/none?password1=hush&password2=hush",
                "jdbc:h2:tcp://127.0.0.1:1/none;USER=ada;PASSWORD=hush",
                "jdbc:h2:tcp://127.0.0.1:1/none;user=ada;password=hush",
                "jdbc:h2:mem:none;NO_SUCH_SETTING=1;PASSWORD=hush",
                "jdbc:h2:mem:none; PASSWORD = hush",
            })
    void the_password_of_the_user_is_refused_and_never_shown(String url) throws Exception {
        Path file = Files.writeString(directory.resolve("settings"), "OUTBOX_JDBC_URL=" + url + "\n");

        assertRefused(Run.of("status", "--url", url), "--url: must not hold a password");
        assertRefused(run(Map.of("OUTBOX_JDBC_URL", url), "status"), "OUTBOX_JDBC_URL: must not hold a password");
        assertRefused(Run.of("status", "--config", file.toString()), "OUTBOX_JDBC_URL in " + file + ": must not hold");
        assertRefused(
                Run.of("relay", "--tables", "org_outbox", "--transport", "stdout", "--url", url),
                "--url: must not hold a password");

        Secrets secrets = new Secrets();
        secrets.addUrl(url);
        assertThat(secrets.hide(driverSays(url)))
                .doesNotContainIgnoringCase("hush")
                .doesNotContain("h%75sh");
    }

    private static void assertRefused(Run run, String message) {
        assertThat(run.exitCode()).as(run.err()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err())
                .contains(message, "OUTBOX_JDBC_PASSWORD", "--password-file")
                .doesNotContainIgnoringCase("hush")
                .doesNotContain("127.0.0.1");
        assertThat(run.out()).isEmpty();
    }

    /** The messages of the real driver for this URL, including causes. */
    private static String driverSays(String url) {
        StringBuilder said = new StringBuilder();
        try {
            DriverManager.getConnection(url).close();
        } catch (SQLException e) {
            for (Throwable thrown = e; thrown != null; thrown = thrown.getCause()) {
                said.append(thrown).append(' ');
            }
        }
        return said.toString();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:postgresql://127.0.0.1:1/none?sslkey=none&sslpassword=hush",
                "jdbc:mariadb://127.0.0.1:1/none?sslMode=trust&keyStore=none&keyStorePassword=hush",
                "jdbc:mariadb://address=(host=127.0.0.1)(port=1)(keyStorePassword=hush)/none",
            })
    void the_password_of_a_key_store_may_stand_in_the_environment_only_and_is_not_shown(String url) {
        assertRefused(Run.of("status", "--url", url), "--url: must not hold a password");
        Run run = run(Map.of("OUTBOX_JDBC_URL", url), "status");

        assertThat(run.exitCode()).isEqualTo(ExitCode.FAILED);
        assertThat(run.err()).isNotBlank().doesNotContain("hush");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:postgresql://127.0.0.1:5432/shop?user=ada@example.com",
                "jdbc:postgresql://[::1]:5432/shop?user=ada@example.com&ssl=true",
                "jdbc:postgresql://ada@127.0.0.1/shop",
                "jdbc:mariadb://127.0.0.1:3306/shop?user=root&passwordCharacterEncoding=UTF-8",
                "jdbc:mariadb://address=(host=a)(port=1),address=(host=b)(port=2)/shop?user=ada",
                "jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1;INIT=CREATE SCHEMA IF NOT EXISTS A",
                "jdbc:h2:file:./data/password;USER=sa",
            })
    void a_url_without_a_password_is_not_suspected(String url) {
        assertThat(UrlPasswords.hasAny(url)).isFalse();
        assertThat(UrlPasswords.values(url)).isEmpty();
    }

    @Test
    void an_argument_in_the_wrong_place_is_not_shown_with_its_password() {
        Run run = Run.of("status", "--ulr", "jdbc:postgresql://ada:hush@db/none?password=hush");

        assertThat(run.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err()).contains("--ulr").doesNotContain("hush");
    }

    private static Run run(Map<String, String> environment, String... arguments) {
        return Run.with(environment, question -> Optional.empty(), Clock.systemUTC(), arguments);
    }
}
