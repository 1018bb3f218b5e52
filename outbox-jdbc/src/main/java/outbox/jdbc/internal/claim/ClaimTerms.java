package outbox.jdbc.internal.claim;

import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.LoadingEventStore.Content;
import outbox.spi.Withheld;

/** The parameters of a claim. */
public record ClaimTerms(Claim claim, Due due, int limit, Ordering ordering, Withheld withheld, Content content) {

    public boolean idsOnly() {
        return content == Content.IDS;
    }
}
