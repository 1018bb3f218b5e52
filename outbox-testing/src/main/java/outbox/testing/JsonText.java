package outbox.testing;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

import java.util.function.Function;

/**
 * A JSON text to compare with other texts. Uses the Jackson version on the class path. Without Jackson, it compares
 * plain text.
 */
final class JsonText {

    private static final @Nullable Function<String, Object> PARSER = parser();

    private final String text;
    private final @Nullable Object tree; // null if plain text is compared

    private JsonText(String text, @Nullable Object tree) {
        this.text = text;
        this.tree = tree;
    }

    /**
     * Parses the text.
     *
     * @throws IllegalArgumentException if it is not JSON
     */
    static JsonText of(String text) {
        return new JsonText(text, PARSER == null ? null : PARSER.apply(text));
    }

    boolean isSame(String other) {
        if (tree == null || PARSER == null) {
            return text.equals(other);
        }
        try {
            return tree.equals(PARSER.apply(other));
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /** Returns a note for failure messages: empty, or that plain text was compared. */
    String how() {
        return tree == null ? " (compared as text: there is no Jackson on the class path to compare JSON)" : "";
    }

    private static @Nullable Function<String, Object> parser() {
        if (isPresent("tools.jackson.databind.json.JsonMapper")) {
            return Jackson3.parser();
        }
        return isPresent("com.fasterxml.jackson.databind.ObjectMapper") ? Jackson2.parser() : null;
    }

    private static boolean isPresent(String type) {
        try {
            Class.forName(type, false, JsonText.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    private static final class Jackson3 {

        static Function<String, Object> parser() {
            JsonMapper mapper = new JsonMapper();
            return text -> {
                try {
                    return mapper.readTree(text);
                } catch (JacksonException e) {
                    throw notJson(text, e);
                }
            };
        }
    }

    private static final class Jackson2 {

        static Function<String, Object> parser() {
            ObjectMapper mapper = new ObjectMapper();
            return text -> {
                try {
                    return mapper.readTree(text);
                } catch (JsonProcessingException e) {
                    throw notJson(text, e);
                }
            };
        }
    }

    private static IllegalArgumentException notJson(String text, Exception cause) {
        return new IllegalArgumentException("Not JSON: " + text, cause);
    }
}
