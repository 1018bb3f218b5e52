package outbox.rabbitmq;

import java.util.Map;

/**
 * A dead letter with its headers and body.
 *
 * @param headers the headers with simple values, such as texts and numbers
 * @param body the body, decoded as UTF-8
 */
public record DeadLetterDetails(DeadLetter letter, Map<String, String> headers, String body) {}
