package outbox.guide;

import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.spring.OutboxListener;

import java.time.Duration;
import java.util.function.ToIntFunction;

/** A listener that reports the meaning of its failures. */
class CrmListener {

    private final ToIntFunction<Invoice> crm;

    CrmListener(ToIntFunction<Invoice> crm) {
        this.crm = crm;
    }

    @OutboxListener(
            type = "invoice.sent",
            attempts = "20",
            retry = "series 5s,30s,2m",
            timeLimit = "30s",
            concurrency = "4")
    void pass(Invoice invoice) {
        int status = crm.applyAsInt(invoice);
        switch (status) {
            case 200 -> {}
            case 400 ->
                throw new GiveUpException("The CRM does not take invoice " + invoice.id()); // no attempt can help
            case 503 ->
                throw new RetryLaterException(Duration.ofMinutes(5), "The CRM is being updated"); // nobody's fault
            default -> throw new IllegalStateException("The CRM answered " + status); // tried again after 5 s
        }
    }

    record Invoice(String id) {}
}
