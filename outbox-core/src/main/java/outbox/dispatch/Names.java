package outbox.dispatch;

/** Names that a person gives to parts of a protection. */
final class Names {

    private Names() {}

    static String require(String setting, String value) {
        if (value.isBlank()) {
            throw new IllegalArgumentException(setting + " must not be blank");
        }
        return value;
    }
}
