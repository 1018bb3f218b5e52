package outbox.samples.demo;

/** The customer cannot pay. The whole order is rolled back. */
final class PaymentRefusedException extends Exception {

    private static final long serialVersionUID = 1L;

    PaymentRefusedException(Order order) {
        super("The card for order " + order.number() + " was refused");
    }
}
