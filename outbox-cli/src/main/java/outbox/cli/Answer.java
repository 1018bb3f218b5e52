package outbox.cli;

import org.jspecify.annotations.Nullable;

import java.util.LinkedHashMap;
import java.util.Map;

/** A JSON object in the order of its making; it may hold null, unlike {@link Map#of}. */
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
