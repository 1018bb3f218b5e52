package outbox.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.RetryLaterException;
import outbox.spi.PrintableText;

import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Writes each event as a line of JSON. It is delivered when the line is written and flushed. One for the whole process, so that no line is torn by that of another table.
 *
 * <p>A stream that failed once is not written to again, and its reader is told by the end of the process: no event is to blame, so no attempt counts. Thread-safe.
 */
final class StdoutTransport implements EventListener {

    private static final JsonFactory JSON = new JsonFactory();

    private final OutputStream out;
    private final Consumer<String> onBroken;
    private boolean broken; // guarded by this, as the stream

    /**
     * On the stream, which must tell failures, as a PrintStream does not.
     *
     * @param onBroken told once why the stream can no longer be written to; must not wait
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
            broken = true; // part of the line may be out
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
                json.writeRawValue(event.payloadJson().replaceAll("[\\r\\n]", " ")); // in JSON they are only space
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
