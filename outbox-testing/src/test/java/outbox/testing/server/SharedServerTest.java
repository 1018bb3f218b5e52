package outbox.testing.server;

import org.junit.jupiter.api.Test;

import java.util.concurrent.atomic.AtomicInteger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class SharedServerTest {
    private final AtomicInteger starts = new AtomicInteger();

    @Test
    void a_start_that_failed_is_not_tried_again_for_each_test() {
        var shared = failingWith(new IllegalStateException("no server"));

        assertThatThrownBy(shared::get).hasMessage("no server");
        assertThatThrownBy(shared::get).hasMessage("no server");

        assertThat(starts).hasValue(1);
    }

    @Test
    void a_start_that_was_interrupted_is_tried_again() {
        var shared = failingWith(new IllegalStateException("interrupted", new InterruptedException()));

        assertThatThrownBy(shared::get).hasMessage("interrupted");
        assertThatThrownBy(shared::get).hasMessage("interrupted");

        assertThat(starts).hasValue(2);
    }

    private SharedServer<DatabaseServer> failingWith(RuntimeException failure) {
        return new SharedServer<>(() -> {
            starts.incrementAndGet();
            throw failure;
        });
    }
}
