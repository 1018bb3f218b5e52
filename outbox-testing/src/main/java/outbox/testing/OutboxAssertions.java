package outbox.testing;

/**
 * Assertions about an outbox under test. Import them statically; they work together with those of AssertJ:
 *
 * <pre>{@code
 * assertThat(outbox).wrote("order.created.v1").forAggregate("order", "42").withPayload("{\"total\": 10}");
 * assertThat(outbox).delivered("order.created.v1").to("mails");
 * }</pre>
 */
public final class OutboxAssertions {

    private OutboxAssertions() {}

    public static OutboxAssert assertThat(TestOutbox outbox) {
        return new OutboxAssert(outbox);
    }
}
