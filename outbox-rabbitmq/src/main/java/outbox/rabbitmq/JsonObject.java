package outbox.rabbitmq;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** The fields of a JSON object. Nested values are kept as their original text. */
final class JsonObject {

    private static final JsonFactory FACTORY = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private record Value(JsonToken token, @Nullable String text, String raw) {}

    private final Map<String, Value> values = new HashMap<>();

    private JsonObject() {}

    /** @throws UnrecoverableMessageException if the body is not exactly one JSON object in UTF-8 */
    static JsonObject parse(byte[] body) {
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(body))
                    .toString();
            return read(text);
        } catch (CharacterCodingException e) {
            throw new UnrecoverableMessageException("The body is not text in UTF-8", e);
        } catch (IOException e) {
            throw new UnrecoverableMessageException("The body is not a JSON object", e);
        }
    }

    private static JsonObject read(String text) throws IOException {
        JsonObject object = new JsonObject();
        try (JsonParser parser = FACTORY.createParser(text)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw new UnrecoverableMessageException("The body is not a JSON object");
            }
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String name = parser.currentName();
                JsonToken token = parser.nextToken();
                int start = (int) parser.currentTokenLocation().getCharOffset();
                String scalar = token.isScalarValue() ? parser.getText() : null;
                parser.skipChildren();
                int end = (int) parser.currentLocation().getCharOffset();
                object.values.put(
                        name,
                        new Value(token, scalar, text.substring(start, end).strip()));
            }
            if (parser.nextToken() != null) {
                throw new UnrecoverableMessageException("The body contains data after the JSON object");
            }
        }
        return object;
    }

    /** Returns a string or a whole number as text, or null if the field is absent or null. */
    @Nullable
    String text(String name) {
        Value value = values.get(name);
        if (value == null || value.token() == JsonToken.VALUE_NULL) {
            return null;
        }
        if (value.token() != JsonToken.VALUE_STRING && value.token() != JsonToken.VALUE_NUMBER_INT) {
            throw new UnrecoverableMessageException(name + " is neither a string nor a whole number");
        }
        return value.text();
    }

    /** Returns the original text of a value of any type, or null if the field is absent. */
    byte @Nullable [] raw(String name) {
        Value value = values.get(name);
        return value == null ? null : value.raw().getBytes(StandardCharsets.UTF_8);
    }
}
