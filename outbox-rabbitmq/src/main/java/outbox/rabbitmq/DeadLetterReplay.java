package outbox.rabbitmq;

import java.util.List;

/**
 * The result of a replay.
 *
 * @param replayed the number of messages that were moved back to their queues
 * @param failures why messages were not replayed, or why the replay ended early; about 100 entries at most
 * @param complete whether nothing failed
 */
public record DeadLetterReplay(int replayed, List<String> failures, boolean complete) {

    public DeadLetterReplay {
        failures = List.copyOf(failures);
    }
}
