package outbox.spring.boot.monitoring;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;
import outbox.spring.ListenerSource;
import outbox.spring.boot.Applications;

import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

import static org.assertj.core.api.Assertions.assertThat;

/** Log lines of the library about an event have its fields in the MDC. */
@NullUnmarked
class LoggedEventTest {

    private final Logger logger =
            Logger.getLogger("outbox.dispatch.FailureLog"); // a strong reference, because the log manager holds none
    private final BlockingQueue<Map<String, String>> fields = new LinkedBlockingQueue<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord record) {
            Map<String, String> mdc = MDC.getCopyOfContextMap();
            fields.add(mdc == null ? Map.of() : mdc);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    @Test
    void a_failed_attempt_is_logged_with_the_fields_of_its_event() throws Exception {
        logger.addHandler(handler);
        try {
            Applications.with(OutboxLoggingAutoConfiguration.class)
                    .withBean(
                            ListenerSource.class,
                            () -> Applications.listening(event -> {
                                throw new IllegalStateException("no");
                            }))
                    .run(context -> {
                        String id = Applications.write(context, "order.placed");

                        assertThat(fields.poll(10, TimeUnit.SECONDS))
                                .containsEntry("outbox.event.id", id)
                                .containsEntry("outbox.event.type", "order.placed")
                                .containsEntry("outbox.event.attempt", "1")
                                .containsEntry("outbox.table", "outbox_event")
                                .containsEntry("outbox.outcome", "retry");
                    });
        } finally {
            logger.removeHandler(handler);
        }
    }
}
