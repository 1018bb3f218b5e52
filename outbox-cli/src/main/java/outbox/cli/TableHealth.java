package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.admin.Backlog;
import outbox.admin.OutboxAdmin;
import outbox.cli.BackgroundReading.Sample;
import outbox.dispatch.Protection;
import outbox.internal.text.PrintableText;
import outbox.relay.Relay;
import outbox.relay.RelayStatus;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;

/**
 * The health of a table that this process relays, as shown at {@code /health}. Background threads read the counts.
 */
final class TableHealth implements AutoCloseable {

    private static final Duration COUNT_EVERY = Duration.ofSeconds(10);
    private static final Duration COUNT_DEAD_EVERY = Duration.ofMinutes(1);
    private static final int MAX_ERROR = 300;

    private final Relay relay;
    private final Duration maxSilence;
    private final BackgroundReading<Backlog> backlog;
    private final BackgroundReading<Long> dead;

    TableHealth(Relay relay, OutboxAdmin admin, Duration maxSilence) {
        this.relay = relay;
        this.maxSilence = maxSilence;
        this.backlog = reading("backlog", admin::backlog, COUNT_EVERY);
        this.dead = reading("dead", admin::deadEvents, COUNT_DEAD_EVERY);
    }

    private <T> BackgroundReading<T> reading(String what, Callable<T> source, Duration every) {
        return BackgroundReading.start(what + "-" + relay.table(), source, every);
    }

    /** Whether the relay of the table works, and the fields to show. */
    record Report(boolean isUp, Map<String, @Nullable Object> fields) {}

    Report report() {
        RelayStatus status = relay.status();
        String fault = status.fault(maxSilence);
        Answer answer = new Answer()
                .with("status", fault == null ? "UP" : "DOWN")
                .with("reason", fault)
                .with("role", status.role().name().toLowerCase(Locale.ROOT))
                .with("secondsSinceLook", seconds(status.poller().sinceLook()))
                .with("liveWorkers", status.dispatcher().liveWorkers())
                .with("marksFailingSeconds", seconds(status.dispatcher().marksFailingFor()));
        Sample<Backlog> counted = backlog.last().orElse(null);
        answer.with("pending", counted == null ? null : counted.value().pending())
                .with("overdueSeconds", counted == null ? null : overdue(counted.value()))
                .with("dead", dead.last().map(Sample::value).orElse(null))
                .with(
                        "countedSecondsAgo",
                        counted == null ? null : counted.age().toSeconds())
                .with("breakers", breakers(status.protection()))
                .with("lastError", shown(status.lastError()));
        return new Report(fault == null, answer.map());
    }

    private static @Nullable Long seconds(@Nullable Duration span) {
        return span == null ? null : span.toSeconds();
    }

    private static long overdue(Backlog backlog) {
        Duration longest = backlog.longestOverdue();
        return longest == null ? 0 : longest.toSeconds();
    }

    private static Map<String, String> breakers(Protection.Status protection) {
        Map<String, String> states = new LinkedHashMap<>();
        protection
                .breakers()
                .forEach(breaker ->
                        states.put(breaker.name(), breaker.state().name().toLowerCase(Locale.ROOT)));
        return states;
    }

    /** Makes the error printable and shortens it. The relay has already removed the payload from it. */
    private static @Nullable String shown(@Nullable String error) {
        if (error == null) {
            return null;
        }
        String line = PrintableText.of(error);
        return line.length() <= MAX_ERROR ? line : line.substring(0, MAX_ERROR) + "…";
    }

    @Override
    public void close() {
        backlog.close();
        dead.close();
    }
}
