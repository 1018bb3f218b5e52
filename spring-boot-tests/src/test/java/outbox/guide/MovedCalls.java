package outbox.guide;

import outbox.spring.OutboxListener;

import java.util.List;
import java.util.function.Consumer;

/** Receives calls that another library stored. */
class MovedCalls {

    private final Consumer<String> mail;

    MovedCalls(Consumer<String> mail) {
        this.mail = mail;
    }

    @OutboxListener(type = "mail.order.placed")
    void orderPlaced(Call call) {
        mail.accept(call.a().get(0).v());
    }

    record Call(List<Argument> a) {}

    record Argument(String v) {}
}
