package outbox.inbox;

import org.jspecify.annotations.Nullable;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.OutcomeEventListener;
import outbox.RetryLaterException;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Base64;
import java.util.Objects;

/**
 * Runs a listener once per {@link EventEnvelope#dedupKey}, or per event id where an event has no key, as long as its inbox remembers. On an inbox in the database the effect of a listener that
 * uses the same transactions happens once; any other effect may happen again if the process ends between it and the commit.
 *
 * <p>A key is meant for good here: a later event with the key of one that was handled does nothing, and neither does a replay. An inbox that cannot do its part costs no attempt. A key of more than
 * 64 characters, which not every inbox has room for, is remembered as {@code sha256:} and its SHA-256 in base64url, on every inbox.
 */
public final class IdempotentListener implements EventListener {

    private static final Duration LATER = Duration.ofSeconds(5);
    private static final int LONGEST_KEY = 64;

    private final Inbox inbox;
    private final String consumer;
    private final EventListener listener;

    /**
     * A listener in the place of the given one.
     *
     * @param consumer a name that stays the same, and that no other listener has on this inbox
     */
    public IdempotentListener(Inbox inbox, String consumer, EventListener listener) {
        this.inbox = Objects.requireNonNull(inbox, "inbox");
        this.consumer = Objects.requireNonNull(consumer, "consumer");
        this.listener = Objects.requireNonNull(listener, "listener");
        if (consumer.isBlank()) {
            throw new IllegalArgumentException("consumer must not be blank");
        }
        if (listener instanceof AsyncEventListener
                || listener instanceof BatchEventListener
                || listener instanceof OutcomeEventListener) {
            throw new IllegalArgumentException(
                    "Only a plain EventListener can be wrapped, because the inbox must see its end: "
                            + listener.getClass().getName());
        }
    }

    @Override
    public void onEvent(EventEnvelope event) throws Exception {
        String key = event.dedupKey();
        try {
            inbox.<Exception>handle(
                    consumer,
                    key == null ? event.eventId() : remembered(key),
                    event.eventType(),
                    connection -> listener.onEvent(event));
        } catch (InboxException e) {
            throw new RetryLaterException(LATER, String.valueOf(e.getMessage()), false, e);
        }
    }

    /** A key as an inbox is to remember it: as it is up to 64 characters, else its hash. For those who give keys to an inbox themselves. */
    public static String remembered(String key) {
        if (key.length() <= LONGEST_KEY) {
            return key;
        }
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8));
            return "sha256:" + Base64.getUrlEncoder().withoutPadding().encodeToString(hash);
        } catch (NoSuchAlgorithmException e) { // every Java has it
            throw new IllegalStateException(e);
        }
    }

    @Override
    public @Nullable String listenerName() {
        return listener.listenerName();
    }
}
