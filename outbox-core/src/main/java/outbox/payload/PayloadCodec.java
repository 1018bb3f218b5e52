package outbox.payload;

/** Makes payloads of values, and values of payloads; usually by a JSON library. Called from several threads at once. */
public interface PayloadCodec {

    /**
     * The value as a payload.
     *
     * @throws PayloadException if it cannot be
     */
    String write(Object value);

    /**
     * The payload as a value of the type; never null.
     *
     * @throws PayloadException if it is not one
     */
    <T> T read(String payload, Class<T> type);
}
