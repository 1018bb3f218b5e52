package outbox.spring.boot.inbox;

import org.jspecify.annotations.Nullable;
import outbox.spring.boot.IncomingMessage;

import java.util.Map;

/** A source of messages. It knows which message is handled on this thread. */
interface IncomingMessages {

    /** A message without an id, such as a batch. */
    IncomingMessage NONE = new IncomingMessage(null, null, Map.of());

    /** Returns null if no message of this source is handled on this thread. */
    @Nullable
    IncomingMessage current();

    /**
     * Returns the exception to throw if the inbox failed. The message is then delivered again. If possible, this
     * does not count as a failed attempt.
     */
    RuntimeException comeAgain(RuntimeException trouble);

    /**
     * Returns the exception to throw for a message that has no key, or a key that the inbox cannot store. A retry
     * would not help.
     */
    RuntimeException refuse(String why);
}
