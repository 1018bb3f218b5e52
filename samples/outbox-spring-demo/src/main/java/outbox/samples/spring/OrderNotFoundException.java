package outbox.samples.spring;

/** There is no order with this id. */
class OrderNotFoundException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    OrderNotFoundException(String id) {
        super("There is no order with the id " + id + ".");
    }
}
