package outbox.jackson;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import outbox.payload.PayloadCodec;
import outbox.payload.PayloadException;

import java.util.Objects;

/**
 * Payloads as JSON, by an object mapper of Jackson 2. A property that the type does not have is passed over unless the given mapper says otherwise: an older node must be able to read what a newer one
 * has added. Which class is made of a payload is the caller's word, never the payload's. Thread-safe.
 */
public final class JacksonPayloadCodec implements PayloadCodec {

    private final ObjectMapper mapper;

    /** With a mapper of its own. */
    public JacksonPayloadCodec() {
        this(JsonMapper.builder()
                .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .build());
    }

    /**
     * With the application's mapper, which is not to be configured any more.
     *
     * @throws IllegalArgumentException if it has default typing: then the payload would say which class is made of it
     */
    public JacksonPayloadCodec(ObjectMapper mapper) {
        this.mapper = Objects.requireNonNull(mapper, "mapper");
        if (mapper.getDeserializationConfig().getDefaultTyper(mapper.constructType(Object.class)) != null) {
            throw new IllegalArgumentException(
                    "The mapper has default typing, so a payload could choose the class that is made of it. Give a mapper without it.");
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

    /** Jackson's own message, and the message of its causes, may quote the payload, which may be confidential. */
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
