package outbox.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventListener;

import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;

/** Writes each event as a line of JSON. It is delivered when the line is written and flushed; a pipe that broke is a failed attempt. Thread-safe. */
final class StdoutTransport implements EventListener {

    private static final JsonFactory JSON = new JsonFactory();

    private final OutputStream out;

    /** The stream must tell failures, which a PrintStream does not. */
    StdoutTransport(OutputStream out) {
        this.out = out;
    }

    @Override
    public String listenerName() {
        return "stdout";
    }

    @Override
    public void onEvent(EventEnvelope event) throws IOException {
        byte[] line = (line(event) + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (out) { // a line is never torn by another
            out.write(line);
            out.flush();
        }
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
                json.writeRawValue(event.payloadJson().replaceAll("[\\r\\n]", " ")); // in JSON they are only space
            } else {
                json.writeStringField("payloadText", event.payloadJson());
            }
            json.writeEndObject();
        }
        return text.toString();
    }

    private static void optional(JsonGenerator json, String name, @Nullable String value) throws IOException {
        if (value != null) {
            json.writeStringField(name, value);
        }
    }

    /** Whether the text is one value of JSON. */
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
