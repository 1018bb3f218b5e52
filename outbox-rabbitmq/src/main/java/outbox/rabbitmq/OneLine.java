package outbox.rabbitmq;

/** Makes a text that comes from others fit for one line of a log: it can neither begin a line of its own nor talk to a terminal. */
final class OneLine {

    private OneLine() {}

    static String of(String text) {
        StringBuilder line = new StringBuilder(text.length());
        text.codePoints().forEach(c -> line.appendCodePoint(isHarmless(c) ? c : ' '));
        return line.toString();
    }

    private static boolean isHarmless(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR, Character.SURROGATE ->
                false;
            case Character.FORMAT -> false; // among them what turns the direction of writing
            default -> true;
        };
    }
}
