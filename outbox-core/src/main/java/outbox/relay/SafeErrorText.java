package outbox.relay;

import outbox.EventEnvelope;
import outbox.spi.ErrorText;

import java.util.function.BiFunction;

/** What a relay keeps of a failure: as every dispatcher without the payload, and cut to a number of bytes. */
final class SafeErrorText implements BiFunction<EventEnvelope, Throwable, String> {

    private final int maxBytes;

    SafeErrorText(int maxBytes) {
        this.maxBytes = maxBytes;
    }

    @Override
    public String apply(EventEnvelope event, Throwable failure) {
        return cut(ErrorText.of(event, failure), maxBytes);
    }

    /** On a character boundary of UTF-8. */
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
