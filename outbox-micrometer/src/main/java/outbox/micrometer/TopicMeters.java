package outbox.micrometer;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Timer;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The meters with the label {@code topic}. Programs that write events choose the event types, so the number and length
 * of topics are bounded. All further types share one topic.
 */
final class TopicMeters {

    static final String OTHER = "other";
    static final String UNKNOWN = "unknown"; // the engine does not know the type

    /**
     * All meters of one topic. They are registered together, so that each starts at zero; otherwise Prometheus does
     * not see the first increase.
     */
    record Topic(Counter enqueued, Counter dead, Result success, Result failure) {

        Result of(boolean delivered) {
            return delivered ? success : failure;
        }
    }

    /** The attempts with one result. */
    record Result(Counter attempts, Timer time) {

        void add(Duration took) {
            attempts.increment();
            time.record(took);
        }
    }

    private final ConcurrentHashMap<String, Topic> topics = new ConcurrentHashMap<>();
    private final TableMeters meters;
    private final int maxTopics;
    private int own; // guarded by this: number of topics that are event types

    TopicMeters(TableMeters meters, int maxTopics) {
        this.meters = meters;
        this.maxTopics = maxTopics;
    }

    Topic of(@Nullable String eventType) {
        String name = eventType == null ? UNKNOWN : TableMeters.isLabel(eventType) ? eventType : OTHER;
        Topic known = topics.get(name);
        return known != null ? known : add(name);
    }

    private synchronized Topic add(String name) {
        Topic known = topics.get(name);
        if (known != null) {
            return known;
        }
        if (name.equals(UNKNOWN) || name.equals(OTHER)) {
            return register(name);
        }
        if (own == maxTopics) { // the name is not stored either
            Topic other = topics.get(OTHER);
            return other != null ? other : register(OTHER);
        }
        own++;
        return register(name);
    }

    private Topic register(String name) {
        Topic topic = new Topic(
                meters.counter("outbox.enqueue", "Events that were written and committed", "topic", name),
                meters.counter("outbox.dead", "Events that became DEAD", "topic", name),
                result(name, "success"),
                result(name, "failure"));
        topics.put(name, topic);
        return topic;
    }

    private Result result(String name, String result) {
        return new Result(
                meters.counter("outbox.dispatch", "Attempts to deliver an event", "topic", name, "result", result),
                meters.timer("outbox.dispatch.latency", "How long listeners ran", "topic", name, "result", result));
    }
}
