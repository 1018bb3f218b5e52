package outbox.jackson;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import outbox.payload.PayloadCodec;
import outbox.payload.PayloadException;

import java.util.Objects;

/**
 * Converts payloads to and from JSON with an object mapper of Jackson 2. By default it ignores unknown properties, so
 * that an older node can read events of a newer one; a given mapper may decide otherwise. The caller chooses the
 * class of a payload, never the payload. Thread-safe.
 */
public final class JacksonPayloadCodec implements PayloadCodec {

    private final ObjectMapper mapper;

    /** Creates a codec with a default mapper. */
    public JacksonPayloadCodec() {
        this(JsonMapper.builder()
                .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .build());
    }

    /**
     * Creates a codec with the application's mapper. Do not change its configuration afterwards.
     *
     * @throws IllegalArgumentException if default typing is enabled, because then a payload could choose the class to
     *     create
     */
    public JacksonPayloadCodec(ObjectMapper mapper) {
        this.mapper = Objects.requireNonNull(mapper, "mapper");
        if (mapper.getDeserializationConfig().getDefaultTyper(mapper.constructType(Object.class)) != null) {
            throw new IllegalArgumentException(
                    "The mapper has default typing on, so a payload could choose the class to create, and"
                            + " other programs may write to the table. Use a mapper without (deactivateDefaultTyping),"
                            + " and @JsonTypeInfo(use = NAME) where a payload has subtypes.");
        }
    }

    @Override
    public String write(Object value) {
        try {
            return mapper.writeValueAsString(value);
        } catch (JsonProcessingException e) {
            throw failure("A " + value.getClass().getName() + " cannot be written as JSON", e);
        }
    }

    @Override
    public <T> T read(String payload, Class<T> type) {
        T value;
        try {
            value = mapper.readValue(payload, type);
        } catch (JsonProcessingException e) {
            throw failure("It is not a " + type.getName() + " in JSON", e);
        }
        if (value == null) {
            throw new PayloadException("It is null in JSON, not a " + type.getName(), null);
        }
        return value;
    }

    /** Creates the exception without the messages of Jackson, which may quote a confidential payload. */
    private static PayloadException failure(String what, JsonProcessingException e) {
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
