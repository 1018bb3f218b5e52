package outbox.testing.internal;

import org.junit.jupiter.api.Test;

import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;

class LoopbackTest {

    @Test
    void no_port_is_given_twice() {
        assertThat(IntStream.range(0, 1000).map(i -> Loopback.freePort()).boxed())
                .doesNotHaveDuplicates();
    }
}
