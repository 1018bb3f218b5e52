package outbox.samples.spring;

/** The customer cannot pay; thrown out of the transaction, it rolls everything back. */
class PaymentRefusedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    PaymentRefusedException(String orderId) {
        super("The card for order " + orderId + " was refused; the order and its event were rolled back.");
    }
}
