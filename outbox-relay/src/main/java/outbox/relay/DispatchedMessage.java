package outbox.relay;

import java.util.Objects;

/** An event as a relay delivers it: its metadata, and its payload as stored in the table. */
public record DispatchedMessage(Meta meta, String payload) {

    public DispatchedMessage {
        Objects.requireNonNull(meta, "meta");
        Objects.requireNonNull(payload, "payload");
    }

    /** Returns a text without the payload, which may be confidential. */
    @Override
    public String toString() {
        return "DispatchedMessage[" + meta + "]";
    }
}
