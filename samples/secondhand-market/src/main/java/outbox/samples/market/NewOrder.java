package outbox.samples.market;

/** The request body of a new order. */
record NewOrder(long productId, long buyerId) {

    NewOrder {
        if (productId < 1 || buyerId < 1) {
            throw new InvalidRequestException("a productId and a buyerId of at least 1 are needed");
        }
    }
}
