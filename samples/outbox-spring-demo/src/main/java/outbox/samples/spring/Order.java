package outbox.samples.spring;

/** An order of the shop. */
record Order(String id, String item, int quantity) {}
