package outbox.relay;

import java.util.Objects;

/** An event as a relay hands it over: what is known about it, and its payload as it stands in the table. */
public record DispatchedMessage(Meta meta, String payload) {

    public DispatchedMessage {
        Objects.requireNonNull(meta, "meta");
        Objects.requireNonNull(payload, "payload");
    }

    /** Names the event without its payload, which may be confidential. */
    @Override
    public String toString() {
        return "DispatchedMessage[" + meta + "]";
    }
}
