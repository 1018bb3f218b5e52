package outbox.samples.multids;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;

/** Starts the program as a separate process and checks its output. */
@Tag("process")
class MultiDsDemoTest {

    @Test
    void events_stay_in_their_own_database(@TempDir Path directory) throws Exception {
        Path output = directory.resolve("output.txt");
        Process program = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Main.class.getName())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            assertThat(program.waitFor(60, TimeUnit.SECONDS)).isTrue();
        } finally {
            program.destroyForcibly();
        }

        assertThat(Files.readString(output))
                .contains(
                        "ok     a payment written in a transaction of orders: refused",
                        "ok     events in the database of orders: [OrderPlaced, OrderPlaced]",
                        "ok     events in the database of payments: [PaymentReceived]",
                        "All is as promised.")
                .doesNotContain("WRONG");
        assertThat(program.exitValue()).isZero();
    }
}
