package outbox.fake;

import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;

import java.time.Duration;

/** Waits in a test until other threads have reached a state. */
public final class Eventually {

    private Eventually() {}

    public static void eventually(ThrowingRunnable assertion) {
        Awaitility.await()
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(3))
                .atMost(Duration.ofSeconds(10))
                .untilAsserted(assertion);
    }
}
