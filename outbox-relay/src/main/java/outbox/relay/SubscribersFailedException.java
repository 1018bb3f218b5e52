package outbox.relay;

import outbox.OutboxException;
import outbox.spi.ErrorText;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Several subscribers of an event failed. The message describes all failures. The first one is the cause, and the
 * others are suppressed exceptions.
 */
public final class SubscribersFailedException extends OutboxException {

    private static final long serialVersionUID = 1L;
    private static final int MESSAGE = 1500; // short enough for the error text that a relay stores
    private static final int SHORTEST = 40;

    SubscribersFailedException(List<Throwable> failures, int subscribers) {
        super(failures.size() + " of " + subscribers + " subscribers failed: " + texts(failures), failures.get(0));
        failures.stream().skip(1).forEach(this::addSuppressed);
    }

    private static String texts(List<Throwable> failures) {
        int share = Math.max(SHORTEST, MESSAGE / failures.size());
        return IntStream.range(0, failures.size())
                .mapToObj(i -> "(" + (i + 1) + ") " + cut(ErrorText.of(failures.get(i)), share))
                .collect(Collectors.joining(" "));
    }

    private static String cut(String text, int length) {
        return text.length() <= length ? text : text.substring(0, length - 1) + "…";
    }
}
