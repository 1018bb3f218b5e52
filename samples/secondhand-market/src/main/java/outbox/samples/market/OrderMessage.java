package outbox.samples.market;

import outbox.rabbitmq.UnrecoverableMessageException;
import tools.jackson.databind.JsonNode;

import java.util.List;

/** The payload of a message. A missing field or a wrong type is a permanent failure. */
record OrderMessage(JsonNode payload) {

    /** Throws if one of the fields is missing. */
    void require(List<String> fields) {
        for (String field : fields) {
            if (!payload.hasNonNull(field)) {
                throw new UnrecoverableMessageException(Texts.CONSUME_FAILED + ": payload." + field + " is missing");
            }
        }
    }

    long orderId() {
        return number("orderId");
    }

    long number(String field) {
        JsonNode value = payload.path(field);
        if (!value.isIntegralNumber() || !value.canConvertToLong()) {
            throw new UnrecoverableMessageException(
                    Texts.CONSUME_FAILED + ": payload." + field + " must be a whole number");
        }
        return value.longValue();
    }

    String text(String field) {
        JsonNode value = payload.path(field);
        if (!value.isString() || value.stringValue().isBlank()) {
            throw new UnrecoverableMessageException(Texts.CONSUME_FAILED + ": payload." + field + " must be a text");
        }
        return value.stringValue();
    }
}
