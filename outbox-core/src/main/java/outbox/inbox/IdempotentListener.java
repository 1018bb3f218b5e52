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
 * Runs a listener once per {@link EventEnvelope#dedupKey}, or once per event id if the event has no key, as long as
 * the inbox keeps the entry. With an inbox in the database, the effect of a listener that uses the same transactions
 * happens exactly once. Any other effect may happen again if the process ends between the effect and the commit.
 *
 * <p>Here a key is permanent: a later event with the key of a handled event does nothing, nor does a replay. If the
 * inbox fails, no attempt is counted. Some inboxes cannot store a key of more than 64 characters, so every inbox
 * stores such a key as {@code sha256:} followed by its SHA-256 hash in base64url.
 */
public final class IdempotentListener implements EventListener {

    private static final Duration LATER = Duration.ofSeconds(5);
    private static final int LONGEST_KEY = 64;

    private final Inbox inbox;
    private final String consumer;
    private final EventListener listener;

    /**
     * Wraps a listener.
     *
     * @param consumer a permanent name that no other listener uses on this inbox
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

    /**
     * Returns the form in which an inbox stores a key: unchanged up to 64 characters, otherwise its hash. Use this
     * in code that calls an inbox directly.
     */
    public static String remembered(String key) {
        if (key.length() <= LONGEST_KEY) {
            return key;
        }
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8));
            return "sha256:" + Base64.getUrlEncoder().withoutPadding().encodeToString(hash);
        } catch (NoSuchAlgorithmException e) { // every Java platform supports SHA-256
            throw new IllegalStateException(e);
        }
    }

    @Override
    public @Nullable String listenerName() {
        return listener.listenerName();
    }
}
