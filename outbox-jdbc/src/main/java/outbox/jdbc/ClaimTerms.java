package outbox.jdbc;

import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.LoadingEventStore.Content;
import outbox.spi.Withheld;

/** The parameters of a claim. */
record ClaimTerms(Claim claim, Due due, int limit, Ordering ordering, Withheld withheld, Content content) {

    boolean idsOnly() {
        return content == Content.IDS;
    }
}
