package outbox.jackson3;

import outbox.payload.PayloadCodec;
import outbox.payload.PayloadException;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;

import java.util.Objects;

/**
 * Converts payloads to and from JSON with an object mapper of Jackson 3. By default it ignores unknown properties, so
 * that an older node can read events of a newer one; a given mapper may decide otherwise. The caller chooses the
 * class of a payload, never the payload. Thread-safe.
 */
public final class Jackson3PayloadCodec implements PayloadCodec {

    private final ObjectMapper mapper;

    /** Creates a codec with a default mapper. */
    public Jackson3PayloadCodec() {
        this(JsonMapper.builder()
                .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .build());
    }

    /**
     * Creates a codec with the application's mapper.
     *
     * @throws IllegalArgumentException if the mapper has default typing, because then a payload could choose the
     *     class to create
     */
    public Jackson3PayloadCodec(ObjectMapper mapper) {
        this.mapper = Objects.requireNonNull(mapper, "mapper");
        if (mapper.deserializationConfig().getDefaultTyper(mapper.constructType(Object.class)) != null) {
            throw new IllegalArgumentException(
                    "The mapper has default typing, so a payload could choose the class to create. Use a"
                            + " mapper without it.");
        }
    }

    @Override
    public String write(Object value) {
        try {
            return mapper.writeValueAsString(value);
        } catch (JacksonException e) {
            throw failure("A " + value.getClass().getName() + " cannot be written as JSON", e);
        }
    }

    @Override
    public <T> T read(String payload, Class<T> type) {
        T value;
        try {
            value = mapper.readValue(payload, type);
        } catch (JacksonException e) {
            throw failure("It is not a " + type.getName() + " in JSON", e);
        }
        if (value == null) {
            throw new PayloadException("It is null in JSON, not a " + type.getName(), null);
        }
        return value;
    }

    /** Creates the exception without the messages of Jackson, which may quote a confidential payload. */
    private static PayloadException failure(String what, JacksonException e) {
        String where = e.getLocation() == null
                ? ""
                : " at line " + e.getLocation().getLineNr() + ", column "
                        + e.getLocation().getColumnNr();
        PayloadException failure =
                new PayloadException(what + " (" + e.getClass().getSimpleName() + where + ")", null);
        failure.setStackTrace(e.getStackTrace());
        return failure;
    }
}
