package outbox.util;

import org.jspecify.annotations.Nullable;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Converts headers to a JSON object of strings and back. It is not a general JSON library: payloads are opaque and
 * never parsed.
 */
public final class JsonCodec {

    private JsonCodec() {}

    /**
     * Returns the object as text, or {@code null} for a map that is null or empty. A null value becomes an
     * empty string.
     */
    public static @Nullable String toJson(@Nullable Map<String, @Nullable String> map) {
        if (map == null || map.isEmpty()) {
            return null;
        }
        StringBuilder json = new StringBuilder(16 * map.size());
        char separator = '{';
        for (Map.Entry<String, @Nullable String> entry : map.entrySet()) {
            json.append(separator);
            quote(json, entry.getKey());
            json.append(':');
            String value = entry.getValue();
            quote(json, value == null ? "" : value);
            separator = ',';
        }
        return json.append('}').toString();
    }

    /**
     * Parses the entries of an object in their order; empty for null, an empty text or {@code {}}. Another program
     * may have written numbers, booleans or null: numbers and booleans are kept as text, and null becomes an empty
     * string. All other values, including nested ones, are rejected with an {@link IllegalArgumentException}.
     */
    public static Map<String, String> parseObject(@Nullable String json) {
        if (json == null || json.isEmpty()) {
            return Map.of();
        }
        return new Parser(json).object();
    }

    private static void quote(StringBuilder json, String text) {
        json.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> json.append("\\\"");
                case '\\' -> json.append("\\\\");
                case '\n' -> json.append("\\n");
                case '\r' -> json.append("\\r");
                case '\t' -> json.append("\\t");
                default -> {
                    if (c < 0x20) {
                        json.append(String.format("\\u%04x", (int) c));
                    } else {
                        json.append(c);
                    }
                }
            }
        }
        json.append('"');
    }

    private static final class Parser {

        private final String json;
        private int at;

        Parser(String json) {
            this.json = json;
        }

        Map<String, String> object() {
            Map<String, String> entries = new LinkedHashMap<>();
            expect('{');
            if (peek() == '}') {
                at++;
            } else {
                do {
                    String name = string();
                    expect(':');
                    entries.put(name, peek() == '"' ? string() : literal());
                } while (another());
            }
            if (peek() != END || at < json.length()) { // the text itself may contain the character END
                throw malformed("text after the object");
            }
            return entries;
        }

        private static final char END = '\uffff';

        private char peek() {
            while (at < json.length() && " \t\r\n".indexOf(json.charAt(at)) >= 0) {
                at++;
            }
            return at < json.length() ? json.charAt(at) : END;
        }

        private void expect(char c) {
            if (peek() != c) {
                throw malformed("expected '" + c + "'");
            }
            at++;
        }

        private boolean another() {
            char c = peek();
            if (c != ',' && c != '}') {
                throw malformed("expected ',' or '}'");
            }
            at++;
            return c == ',';
        }

        private String literal() {
            int start = at;
            while (at < json.length() && ",} \t\r\n".indexOf(json.charAt(at)) < 0) {
                at++;
            }
            String text = json.substring(start, at);
            if (text.equals("null")) {
                return "";
            }
            if (text.equals("true") || text.equals("false") || isNumber(text)) {
                return text;
            }
            throw malformed("expected a string, a number, true, false or null");
        }

        private static boolean isNumber(String text) {
            return text.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
        }

        private String string() {
            expect('"');
            StringBuilder text = new StringBuilder();
            while (at < json.length()) {
                char c = json.charAt(at++);
                if (c == '"') {
                    return text.toString();
                }
                if (c < 0x20) {
                    throw malformed("a control character that is not escaped");
                }
                text.append(c == '\\' ? escaped() : c);
            }
            throw malformed("a string without end");
        }

        private char escaped() {
            if (at >= json.length()) {
                throw malformed("a string without end");
            }
            char c = json.charAt(at++);
            return switch (c) {
                case '"', '\\', '/' -> c;
                case 'b' -> '\b';
                case 'f' -> '\f';
                case 'n' -> '\n';
                case 'r' -> '\r';
                case 't' -> '\t';
                case 'u' -> unicode();
                default -> throw malformed("an unknown escape");
            };
        }

        private char unicode() {
            int code = 0;
            for (int i = 0; i < 4; i++, at++) {
                int digit = at < json.length() ? Character.digit(json.charAt(at), 16) : -1;
                if (digit < 0 || json.charAt(at) > 'f') { // Character.digit also accepts digits of other scripts
                    throw malformed("an escape that is not four hexadecimal digits");
                }
                code = code * 16 + digit;
            }
            return (char) code;
        }

        private IllegalArgumentException malformed(String what) {
            return new IllegalArgumentException(
                    "Malformed JSON object: " + what + " at index " + Math.min(at, json.length()));
        }
    }
}
