package outbox.jdbc.internal.claim;

import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimRequest.Content;
import outbox.spi.ClaimRequest.Withheld;

/** The parameters of a claim. */
public record ClaimTerms(Claim claim, Due due, int limit, Ordering ordering, Withheld withheld, Content content) {

    public static ClaimTerms of(Claim claim, ClaimRequest request) {
        return new ClaimTerms(
                claim, Due.of(request), request.limit(), request.ordering(), request.withheld(), request.content());
    }

    public boolean idsOnly() {
        return content == Content.IDS;
    }
}
