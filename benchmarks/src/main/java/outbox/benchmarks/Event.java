package outbox.benchmarks;

/**
 * An event of a benchmark: its number, the aggregate it tells about and its place among the events of that aggregate.
 *
 * <p>All three stand at fixed places in the payload, so that a listener that gets only the payload knows which event it was.
 */
record Event(int number, int aggregate, int sequence) {
    static final int PAYLOAD_LENGTH = 200;

    private static final String PADDING = "x".repeat(PAYLOAD_LENGTH);
    private static final int DIGITS = 9;

    /** The event with this number if events go round a number of aggregates. */
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

    /** A JSON object of {@value #PAYLOAD_LENGTH} bytes. */
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
