package outbox.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.RetryLaterException;
import outbox.internal.text.PrintableText;

import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Writes each event as a line of JSON. An event is delivered when its line is written and flushed. All tables of the
 * process share one instance, so that lines do not mix.
 *
 * <p>After the first failure the transport does not write to the stream again, and the process ends. The failure is
 * not caused by an event, so it consumes no attempt. Thread-safe.
 */
final class StdoutTransport implements EventListener {

    private static final JsonFactory JSON = new JsonFactory();

    private final OutputStream out;
    private final Consumer<String> onBroken;
    private boolean broken; // guarded by this, like the stream

    /**
     * Creates the transport.
     *
     * @param out must throw on failure, which a PrintStream does not
     * @param onBroken receives the reason once when the stream fails; must not block
     */
    StdoutTransport(OutputStream out, Consumer<String> onBroken) {
        this.out = out;
        this.onBroken = onBroken;
    }

    @Override
    public String listenerName() {
        return "stdout";
    }

    @Override
    public void onEvent(EventEnvelope event) throws IOException {
        write((line(event) + "\n").getBytes(StandardCharsets.UTF_8));
    }

    private synchronized void write(byte[] line) {
        if (broken) {
            throw later("Standard output broke before", null);
        }
        try {
            out.write(line);
            out.flush();
        } catch (IOException e) {
            broken = true; // a part of the line may have been written
            onBroken.accept("Cannot write to standard output: " + e.getMessage());
            throw later("Cannot write to standard output", e);
        }
    }

    private static RetryLaterException later(String why, @Nullable IOException cause) {
        return new RetryLaterException(RetryLaterException.SHORTEST_UNCOUNTED, why, false, cause);
    }

    private static String line(EventEnvelope event) throws IOException {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = JSON.createGenerator(text)) {
            json.writeStartObject();
            json.writeStringField("eventId", event.eventId());
            json.writeStringField("eventType", event.eventType());
            optional(json, "aggregateType", event.aggregateType());
            optional(json, "aggregateId", event.aggregateId());
            optional(json, "tenantId", event.tenantId());
            json.writeStringField("occurredAt", event.occurredAt().toString());
            json.writeObjectFieldStart("headers");
            for (Map.Entry<String, String> header : event.headers().entrySet()) {
                json.writeStringField(header.getKey(), header.getValue());
            }
            json.writeEndObject();
            if (event.isBinary()) {
                json.writeStringField("payloadBase64", Base64.getEncoder().encodeToString(event.payloadBytes()));
            } else if (isJson(event.payloadJson())) {
                json.writeFieldName("payload");
                // line breaks in JSON are white space
                json.writeRawValue(event.payloadJson().replaceAll("[\\r\\n]", " "));
            } else {
                json.writeStringField("payloadText", event.payloadJson());
            }
            json.writeEndObject();
        }
        return PrintableText.ofJson(text.toString());
    }

    private static void optional(JsonGenerator json, String name, @Nullable String value) throws IOException {
        if (value != null) {
            json.writeStringField(name, value);
        }
    }

    /** Whether the text is a single JSON value. */
    private static boolean isJson(String text) throws IOException {
        try (JsonParser parser = JSON.createParser(text)) {
            if (parser.nextToken() == null) {
                return false;
            }
            parser.skipChildren();
            return parser.nextToken() == null;
        } catch (JsonProcessingException e) {
            return false;
        }
    }
}
