package outbox.samples.spring;

/** An order of the shop. */
record Order(String id, String item, int quantity) {

    static final String AGGREGATE = "Order";
    static final String PLACED = "OrderPlaced";
}
