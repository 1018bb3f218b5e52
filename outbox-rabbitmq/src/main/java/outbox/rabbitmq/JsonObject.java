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

/** The fields of a JSON object, each as it stands there: the library reads, and what is inside a value stays verbatim. */
final class JsonObject {

    private static final JsonFactory FACTORY = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private record Value(JsonToken token, @Nullable String text, String raw) {}

    private final Map<String, Value> values = new HashMap<>();

    private JsonObject() {}

    /** @throws UnrecoverableMessageException if it is not one object in UTF-8 */
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
                throw new UnrecoverableMessageException("There is something after the JSON object");
            }
        }
        return object;
    }

    /** A text or a number, as text; null if it is absent or null. */
    @Nullable
    String text(String name) {
        Value value = values.get(name);
        if (value == null || value.token() == JsonToken.VALUE_NULL) {
            return null;
        }
        if (value.token() != JsonToken.VALUE_STRING && value.token() != JsonToken.VALUE_NUMBER_INT) {
            throw new UnrecoverableMessageException(name + " is neither a text nor a whole number");
        }
        return value.text();
    }

    /** A value of any kind as it stands there; null if it is absent. */
    byte @Nullable [] raw(String name) {
        Value value = values.get(name);
        return value == null ? null : value.raw().getBytes(StandardCharsets.UTF_8);
    }
}
