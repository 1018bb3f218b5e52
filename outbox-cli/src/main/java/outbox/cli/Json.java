package outbox.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import org.jspecify.annotations.Nullable;
import outbox.internal.text.PrintableText;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Writes answers, maps, collections, strings, numbers and booleans as JSON. Other values, such as times, are written as
 * strings. Characters that are not printable are escaped; the data is not changed.
 */
final class Json {

    /**
     * The version of the format of all results. It increases when a field changes its meaning or is removed, not when
     * one is added.
     */
    static final int VERSION = 1;

    private static final JsonFactory FACTORY = new JsonFactory();

    private Json() {}

    /** The value as JSON on one line. */
    static String line(@Nullable Object value) {
        return text(value, false);
    }

    /** The result of a command on several lines. Its first field is the version of the format. */
    static String pretty(Map<String, @Nullable Object> answer) {
        Map<String, @Nullable Object> all = new LinkedHashMap<>();
        all.put("version", VERSION);
        all.putAll(answer);
        return text(all, true);
    }

    private static String text(@Nullable Object value, boolean pretty) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = FACTORY.createGenerator(text)) {
            if (pretty) {
                json.useDefaultPrettyPrinter();
            }
            write(json, value);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // a StringWriter does not fail
        }
        return PrintableText.ofJson(text.toString());
    }

    private static void write(JsonGenerator json, @Nullable Object value) throws IOException {
        if (value == null) {
            json.writeNull();
        } else if (value instanceof Answer answer) {
            write(json, answer.map());
        } else if (value instanceof Map<?, ?> map) {
            json.writeStartObject();
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                json.writeFieldName(String.valueOf(entry.getKey()));
                write(json, entry.getValue());
            }
            json.writeEndObject();
        } else if (value instanceof Collection<?> many) {
            json.writeStartArray();
            for (Object one : many) {
                write(json, one);
            }
            json.writeEndArray();
        } else if (value instanceof Boolean truth) {
            json.writeBoolean(truth);
        } else if (value instanceof Integer || value instanceof Long) {
            json.writeNumber(((Number) value).longValue());
        } else {
            json.writeString(value.toString());
        }
    }
}
