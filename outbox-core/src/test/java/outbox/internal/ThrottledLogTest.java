package outbox.internal;

import org.junit.jupiter.api.Test;
import outbox.fake.BrokenLog;
import outbox.fake.CapturedLog;

import java.lang.System.Logger;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Level;

import static org.assertj.core.api.Assertions.assertThat;

class ThrottledLogTest {

    private static final Logger LOG = System.getLogger(ThrottledLogTest.class.getName());

    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5); // the clock value may overflow at any time

    @Test
    void the_first_trouble_is_logged_at_once_and_the_next_ones_are_not() {
        ThrottledLog quiet = new ThrottledLog(LOG);

        try (CapturedLog log = CapturedLog.of(ThrottledLogTest.class)) {
            for (int i = 0; i < 1000; i++) {
                quiet.log(Logger.Level.ERROR, "trouble " + i, null);
            }

            assertThat(log.messages(Level.SEVERE)).containsExactly("trouble 0");
        }
    }

    @Test
    void after_a_minute_it_is_logged_again_with_the_number_left_out() {
        ThrottledLog quiet = new ThrottledLog(LOG, nanos::get);

        try (CapturedLog log = CapturedLog.of(ThrottledLogTest.class)) {
            quiet.log(Logger.Level.WARNING, "one", null);
            nanos.addAndGet(Duration.ofSeconds(59).toNanos());
            quiet.log(Logger.Level.WARNING, "two", null);
            quiet.log(Logger.Level.WARNING, "three", null);
            nanos.addAndGet(Duration.ofSeconds(1).toNanos());
            quiet.log(Logger.Level.WARNING, "four", null);
            nanos.addAndGet(Duration.ofHours(1).toNanos());
            quiet.log(Logger.Level.WARNING, "five", null);

            assertThat(log.messages(Level.WARNING))
                    .containsExactly("one", "four (and 2 times more since it was last logged)", "five");
        }
    }

    @Test
    void a_log_that_fails_harms_nobody_and_its_message_is_counted() {
        ThrottledLog quiet = new ThrottledLog(LOG, nanos::get);

        try (BrokenLog broken = BrokenLog.of(ThrottledLogTest.class)) {
            quiet.log(Logger.Level.WARNING, "one", null);
            assertThat(broken.failures()).isEqualTo(1);
        }
        try (CapturedLog log = CapturedLog.of(ThrottledLogTest.class)) {
            nanos.addAndGet(Duration.ofMinutes(1).toNanos());
            quiet.log(Logger.Level.WARNING, "two", null);

            assertThat(log.messages(Level.WARNING)).containsExactly("two (and 1 times more since it was last logged)");
        }
    }

    @Test
    void each_trouble_is_quiet_for_itself() {
        try (CapturedLog log = CapturedLog.of(ThrottledLogTest.class)) {
            new ThrottledLog(LOG).log(Logger.Level.ERROR, "this", null);
            new ThrottledLog(LOG).log(Logger.Level.ERROR, "that", new IllegalStateException());

            assertThat(log.messages(Level.SEVERE)).containsExactly("this", "that");
        }
    }
}
