package outbox.cli;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import static org.assertj.core.api.Assertions.assertThat;

class AuthorizationFileTest {

    private final AtomicLong nanos = new AtomicLong();
    private final Secrets secrets = new Secrets();

    private String afterASecond(AuthorizationFile authorization) {
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
        return authorization.get();
    }

    @Test
    void a_renewed_value_is_used_within_a_second_and_hidden(@TempDir Path directory) throws Exception {
        Path file = Files.writeString(directory.resolve("token"), "Bearer first\n");
        AuthorizationFile authorization = new AuthorizationFile(file.toString(), secrets, nanos::get);
        assertThat(authorization.get()).isEqualTo("Bearer first");

        Files.writeString(file, "Bearer other\n"); // same size, perhaps the same time stamp

        assertThat(authorization.get()).isEqualTo("Bearer first");
        assertThat(afterASecond(authorization)).isEqualTo("Bearer other");
        assertThat(secrets.hide("the value Bearer other")).isEqualTo("the value ***");
    }

    @Test
    void while_the_file_cannot_be_used_the_value_before_goes_on(@TempDir Path directory) throws Exception {
        Path file = Files.writeString(directory.resolve("token"), "Bearer first\n");
        AuthorizationFile authorization = new AuthorizationFile(file.toString(), secrets, nanos::get);

        for (String wrong : new String[] {"", "Bearer evil\r\nx-evil: 1", "Bearer evil "}) {
            Files.writeString(file, wrong);
            assertThat(afterASecond(authorization)).isEqualTo("Bearer first");
        }
        Files.delete(file);
        assertThat(afterASecond(authorization)).isEqualTo("Bearer first");

        Files.writeString(file, "Bearer third");
        assertThat(afterASecond(authorization)).isEqualTo("Bearer third");
    }
}
