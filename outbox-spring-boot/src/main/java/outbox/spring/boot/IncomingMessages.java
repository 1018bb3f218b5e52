package outbox.spring.boot;

import org.jspecify.annotations.Nullable;

/** A place where messages come from, that knows which one is being handled on this thread. */
interface IncomingMessages {

    /** Null if none is. */
    @Nullable
    IncomingMessage current();

    /** What to throw when the inbox could not do its part, so that the message comes again, without it counting where that can be. */
    RuntimeException comeAgain(RuntimeException trouble);

    /** What to throw about a message that has no key, or none that an inbox can remember, and never will. */
    RuntimeException refuse(String why);
}
