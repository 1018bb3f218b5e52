package outbox.benchmarks;

/**
 * An event of a benchmark: its number, its aggregate, and its position among the events of that aggregate.
 *
 * <p>All three are at fixed positions in the payload, so that a listener that receives only the payload can identify
 * the event.
 */
record Event(int number, int aggregate, int sequence) {
    static final int PAYLOAD_LENGTH = 200;

    private static final String PADDING = "x".repeat(PAYLOAD_LENGTH);
    private static final int DIGITS = 9;

    /** Returns the event with this number. The events are spread over the aggregates in turn. */
    static Event of(int number, int aggregates) {
        return new Event(number, number % aggregates, number / aggregates);
    }

    static Event parse(String payload) {
        return new Event(digits(payload, 6), digits(payload, 23), digits(payload, 40));
    }

    private static int digits(String payload, int from) {
        return Integer.parseInt(payload, from, from + DIGITS, 10);
    }

    String aggregateId() {
        return "order-" + aggregate;
    }

    /** Returns a JSON object of {@value #PAYLOAD_LENGTH} bytes. */
    String payload() {
        StringBuilder json = new StringBuilder(PAYLOAD_LENGTH);
        append(json.append("{\"n\":1"), number);
        append(json.append(", \"a\": 1"), aggregate);
        append(json.append(", \"s\": 1"), sequence);
        json.append(", \"p\":\"");
        json.append(PADDING, 0, PAYLOAD_LENGTH - json.length() - 2);
        return json.append("\"}").toString();
    }

    private static void append(StringBuilder json, int value) {
        String digits = Integer.toString(value);
        json.append("000000000", 0, DIGITS - digits.length()).append(digits);
    }
}
