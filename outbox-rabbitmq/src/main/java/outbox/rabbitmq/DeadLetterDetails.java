package outbox.rabbitmq;

import java.util.Map;

/**
 * A dead letter with all that it says.
 *
 * @param headers those that are texts, numbers or the like
 * @param body as it was sent, if it is text
 */
public record DeadLetterDetails(DeadLetter letter, Map<String, String> headers, String body) {}
