package outbox.spring.boot;

/** A property has a value that is not allowed. */
final class InvalidPropertyException extends IllegalArgumentException {

    private static final long serialVersionUID = 1L;

    private final String property;
    private final String value;
    private final String allowed;

    InvalidPropertyException(String property, String value, String allowed) {
        super("Property " + property + " is '" + value + "', but must be " + allowed);
        this.property = property;
        this.value = value;
        this.allowed = allowed;
    }

    String property() {
        return property;
    }

    String value() {
        return value;
    }

    String allowed() {
        return allowed;
    }
}
