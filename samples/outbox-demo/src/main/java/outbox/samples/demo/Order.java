package outbox.samples.demo;

import outbox.EventEnvelope;

/**
 * An order of the shop.
 *
 * @param number unique; a gift has the negative number of its order
 */
record Order(long number, String country) {

    static final String AGGREGATE = "Order";
    static final String PLACED = "OrderPlaced";
    static final String IMPORTED = "OrderImported";

    /** No carrier delivers there, so these orders become dead events. */
    static final String ATLANTIS = "Atlantis";

    Order gift() {
        return new Order(-number, country);
    }

    EventEnvelope event(String type) {
        return EventEnvelope.builder(type)
                .aggregateType(AGGREGATE)
                .aggregateId(Long.toString(number))
                .header("country", country)
                .payloadJson("{\"number\":" + number + ",\"country\":\"" + country + "\"}")
                .build();
    }

    static long numberOf(EventEnvelope event) {
        return Long.parseLong(String.valueOf(event.aggregateId()));
    }
}
