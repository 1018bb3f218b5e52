package outbox.cli;

import outbox.internal.text.PrintableText;

import java.io.PrintWriter;
import java.util.stream.Collectors;

/**
 * Writes messages for people. It hides secrets, also those in messages of drivers, and writes only lines of printable
 * text.
 */
final class MessageWriter extends PrintWriter {

    private final Secrets secrets;

    MessageWriter(PrintWriter target, Secrets secrets) {
        super(target, true);
        this.secrets = secrets;
    }

    @Override
    public void write(String text, int offset, int length) {
        String safe = safe(text.substring(offset, offset + length));
        super.write(safe, 0, safe.length());
    }

    private String safe(String text) {
        return secrets.hide(text)
                .replace(System.lineSeparator(), "\n")
                .codePoints()
                .mapToObj(c -> c == '\n' ? System.lineSeparator() : PrintableText.of(Character.toString(c)))
                .collect(Collectors.joining());
    }
}
