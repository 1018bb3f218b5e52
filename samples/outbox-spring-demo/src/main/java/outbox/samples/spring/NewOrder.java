package outbox.samples.spring;

import org.jspecify.annotations.Nullable;

/** What a client sends to place an order; anything else is refused before it gets in. */
record NewOrder(String item, int quantity) {

    static final String EXAMPLE =
            "{\"item\": \"lamp\", \"quantity\": 2}, with an item of 1 to 200 characters and a quantity of at least 1,";

    NewOrder(@Nullable String item, int quantity) {
        if (item == null || item.isBlank() || item.length() > 200 || quantity < 1) {
            throw new IllegalArgumentException("Not an order");
        }
        this.item = item;
        this.quantity = quantity;
    }
}
