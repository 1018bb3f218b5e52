package outbox.samples.market;

import com.fasterxml.jackson.annotation.JsonValue;

import java.util.Locale;

/** The statuses of an order: pending, paid, shipped, completed; or cancelled while it is pending. */
enum OrderStatus {
    PENDING,
    PAID,
    SHIPPED,
    COMPLETED,
    CANCELLED;

    /** Returns the text in the table, in events and in responses. */
    @JsonValue
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    static OrderStatus of(String text) {
        return valueOf(text.toUpperCase(Locale.ROOT));
    }
}
