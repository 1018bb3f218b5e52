package outbox.samples.market;

import com.fasterxml.jackson.annotation.JsonValue;

import java.util.Locale;

/** The life of an order: pending, paid, shipped, completed; or cancelled while it is pending. */
enum OrderStatus {
    PENDING,
    PAID,
    SHIPPED,
    COMPLETED,
    CANCELLED;

    /** As it stands in the table, in events and in answers. */
    @JsonValue
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    static OrderStatus of(String text) {
        return valueOf(text.toUpperCase(Locale.ROOT));
    }
}
