package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import outbox.AsyncEventListener;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.internal.text.PrintableText;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.poller.OutboxPoller;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

/** Each log record stays one line, whatever an event and its failures contain. */
class HostileLogTest {

    private static final String FORGED = "\r\nFORGED\u001b[2J\u009b\u2028\u202e";

    private final DispatcherRig rig = new DispatcherRig();
    // strong reference, because the log manager keeps only a weak one
    private final Logger logger = Logger.getLogger("outbox");
    private final List<LogRecord> records = new CopyOnWriteArrayList<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord record) {
            records.add(record);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    @BeforeEach
    void capture() {
        logger.setLevel(Level.ALL);
        logger.setUseParentHandlers(false);
        logger.addHandler(handler);
    }

    @AfterEach
    void close() {
        rig.close();
        logger.removeHandler(handler);
        logger.setUseParentHandlers(true);
        logger.setLevel(null);
    }

    @Test
    void failures_of_every_kind_are_logged_on_one_line() {
        EventListener failing = event -> {
            throw new IllegalStateException("cannot" + FORGED, new IllegalArgumentException(FORGED));
        };
        rig.on("fails" + FORGED, failing);
        rig.on("gives up" + FORGED, event -> {
            throw new GiveUpException("enough" + FORGED);
        });
        rig.on("later" + FORGED, event -> {
            throw new RetryLaterException(Duration.ofHours(1), "busy" + FORGED);
        });
        rig.on("hangs" + FORGED, (AsyncEventListener) event -> new CompletableFuture<>());
        rig.on("memory" + FORGED, event -> {
            throw new OutOfMemoryError("heap" + FORGED);
        });
        OutboxDispatcher dispatcher = rig.start(settings -> settings.maxAttempts(2)
                .listenerTimeLimit(Duration.ofMillis(50))
                .protection(Protection.builder()
                        .breakerForType(
                                "fails" + FORGED,
                                CircuitBreaker.named("breaker").minimumCalls(1).build())
                        .build())
                .errorText((event, failure) -> {
                    if (event.eventType().startsWith("memory")) {
                        throw new IllegalStateException("undescribed" + FORGED);
                    }
                    return "error" + FORGED;
                })
                .interceptor(EventInterceptor.after((event, error) -> {
                    throw new IllegalStateException("interceptor" + FORGED);
                })));

        for (String type : List.of("fails", "gives up", "later", "hangs", "memory", "nobody listens")) {
            EventEnvelope event = hostile(type);
            assertThat(dispatcher.enqueueCold(DispatcherRig.cold(event, 1))).isTrue();
            eventually(() -> assertThat(rig.store.status(event.eventId())).isNotEqualTo(EventStatus.NEW));
        }

        assertThat(lines())
                .filteredOn(line -> line.startsWith("Delivery failed:"))
                .hasSizeGreaterThanOrEqualTo(5);
        assertAllPrintable();
    }

    @Test
    void a_row_that_cannot_be_decoded_is_logged_on_one_line() {
        rig.store.put(row("undecodable", "{" + FORGED), Instant.now().minusSeconds(60));
        rig.store.put(row("unmarkable", "{" + FORGED), Instant.now().minusSeconds(60));
        rig.store.beforeEachCall(call -> {
            if (call.startsWith("markDead unmarkable")) {
                throw new IllegalStateException("down" + FORGED);
            }
        });
        OutboxDispatcher dispatcher = rig.start(settings -> settings);

        try (OutboxPoller poller = OutboxPoller.builder()
                .connectionProvider(rig.connections)
                .eventStore(rig.store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .build()) {
            poller.poll();
        }

        assertThat(lines())
                .filteredOn(line -> line.contains("cannot be decoded"))
                .hasSize(2);
        assertThat(lines()).anyMatch(line -> line.contains("cannot be marked as dead"));
        assertAllPrintable();
    }

    private EventEnvelope hostile(String type) {
        return rig.store.given(EventEnvelope.restore(row(type, null)));
    }

    private static OutboxEvent row(String type, @Nullable String headers) {
        Instant now = Instant.now().minusSeconds(60);
        return new OutboxEvent(
                type + FORGED + "1",
                type + FORGED,
                null,
                "aggregate" + FORGED,
                "tenant" + FORGED,
                "{}",
                headers,
                0,
                now);
    }

    private List<String> lines() {
        return records.stream()
                .map(record -> new SimpleFormatter().formatMessage(record))
                .toList();
    }

    private void assertAllPrintable() {
        assertThat(records).allSatisfy(record -> {
            assertPrintable(new SimpleFormatter().formatMessage(record));
            if (record.getThrown() != null) {
                StringWriter trace = new StringWriter();
                record.getThrown().printStackTrace(new PrintWriter(trace, true));
                trace.toString().lines().forEach(line -> {
                    assertPrintable(line.replace("\t", ""));
                    assertThat(line.strip()).doesNotStartWith("FORGED");
                });
            }
        });
    }

    private static void assertPrintable(String line) {
        assertThat(line.codePoints().allMatch(PrintableText::isPrintable))
                .as(line)
                .isTrue();
    }
}
