package outbox.dispatch;

/** Checks names of breakers, limits and listeners. */
final class Names {

    private Names() {}

    static String require(String setting, String value) {
        if (value.isBlank()) {
            throw new IllegalArgumentException(setting + " must not be blank");
        }
        return value;
    }
}
