package outbox.samples.market;

/** There is no product or order with this id. */
class NotFoundException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    NotFoundException(String what, long id) {
        super("There is no " + what + " with the id " + id + ".");
    }
}
