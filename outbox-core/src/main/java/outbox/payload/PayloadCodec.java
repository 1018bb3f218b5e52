package outbox.payload;

/** Converts values to payloads and back, usually with a JSON library. Several threads call it at the same time. */
public interface PayloadCodec {

    /**
     * Converts a value to a payload.
     *
     * @throws PayloadException if the value cannot be converted
     */
    String write(Object value);

    /**
     * Converts a payload to a value of the type; never returns null.
     *
     * @throws PayloadException if the payload does not match the type
     */
    <T> T read(String payload, Class<T> type);
}
