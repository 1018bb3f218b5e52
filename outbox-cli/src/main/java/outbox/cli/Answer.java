package outbox.cli;

import org.jspecify.annotations.Nullable;

import java.util.LinkedHashMap;
import java.util.Map;

/** A JSON object that keeps the order of insertion. Unlike {@link Map#of}, it accepts null values. */
final class Answer {

    private final Map<String, @Nullable Object> fields = new LinkedHashMap<>();

    Answer with(String name, @Nullable Object value) {
        fields.put(name, value);
        return this;
    }

    Map<String, @Nullable Object> map() {
        return fields;
    }
}
