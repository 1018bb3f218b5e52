package outbox.rabbitmq;

import java.util.List;

/**
 * What a replay did.
 *
 * @param replayed messages that are in their queues again, and no longer in the dead-letter queue
 * @param failures why messages stayed, or the replay ended before its end; about a hundred at most
 * @param complete whether nothing failed
 */
public record DeadLetterReplay(int replayed, List<String> failures, boolean complete) {

    public DeadLetterReplay {
        failures = List.copyOf(failures);
    }
}
