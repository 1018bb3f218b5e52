package outbox.relay;

import outbox.EventEnvelope;
import outbox.spi.ErrorText;

import java.util.function.BiFunction;

/**
 * The error text that a relay stores. Like that of every dispatcher, it does not contain the payload. It is cut to a
 * maximum number of bytes.
 */
final class SafeErrorText implements BiFunction<EventEnvelope, Throwable, String> {

    private final int maxBytes;

    SafeErrorText(int maxBytes) {
        this.maxBytes = maxBytes;
    }

    @Override
    public String apply(EventEnvelope event, Throwable failure) {
        return cut(ErrorText.of(event, failure), maxBytes);
    }

    /** Cuts the text to a number of UTF-8 bytes, without splitting a character. */
    static String cut(String text, int maxBytes) {
        int bytes = 0;
        for (int i = 0; i < text.length(); ) {
            int c = text.codePointAt(i);
            bytes += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
            if (bytes > maxBytes) {
                return text.substring(0, i);
            }
            i += Character.charCount(c);
        }
        return text;
    }
}
