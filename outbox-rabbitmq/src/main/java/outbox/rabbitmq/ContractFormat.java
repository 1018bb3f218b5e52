package outbox.rabbitmq;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.GiveUpException;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.regex.Pattern;

/** The JSON object of {@link MessageFormat#CONTRACT}. */
final class ContractFormat implements MessageFormat {

    private static final JsonFactory JSON = new JsonFactory();
    // fits into a long and keeps its text when written as a number
    private static final Pattern NUMBER = Pattern.compile("0|-?[1-9][0-9]{0,17}");

    @Override
    public RabbitMessage messageOf(EventEnvelope event) {
        String payload = jsonOf(event);
        ByteArrayOutputStream body = new ByteArrayOutputStream(event.payloadSize() + 256);
        try (JsonGenerator json = JSON.createGenerator(body)) {
            json.writeStartObject();
            json.writeStringField("eventId", event.eventId());
            json.writeStringField("eventType", event.eventType());
            json.writeStringField("aggregateType", event.aggregateType());
            json.writeFieldName("aggregateId");
            writeId(json, event.aggregateId());
            json.writeStringField("occurredAt", event.occurredAt().toString());
            json.writeStringField("traceId", traceId(event));
            json.writeFieldName("payload");
            json.writeRawValue(payload);
            json.writeEndObject();
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot write JSON to memory", e);
        }
        return RabbitMessage.of(
                CommonProperties.of(event, "application/json", CommonProperties.headers(event)), body.toByteArray());
    }

    private static void writeId(JsonGenerator json, @Nullable String id) throws IOException {
        if (id != null && NUMBER.matcher(id).matches()) {
            json.writeNumber(id);
        } else {
            json.writeString(id);
        }
    }

    private static @Nullable String traceId(EventEnvelope event) {
        String given = CommonProperties.header(event, "traceId", "trace-id");
        return given != null ? given : CommonProperties.traceIdOf(event);
    }

    /** Returns the payload after checking that it is one JSON value. Otherwise the message would not be valid JSON. */
    private static String jsonOf(EventEnvelope event) {
        String payload = event.payloadJson();
        if (event.isBinary() || !isJson(payload)) {
            throw new GiveUpException("The payload of event " + event.eventId() + " (type " + event.eventType()
                    + ") is not JSON, which MessageFormat.CONTRACT requires."
                    + " Use MessageFormat.CLOUD_EVENTS for other payloads.");
        }
        return payload;
    }

    private static boolean isJson(String payload) {
        try (JsonParser parser = JSON.createParser(payload)) {
            if (parser.nextToken() == null) {
                return false;
            }
            parser.skipChildren();
            return parser.nextToken() == null;
        } catch (IOException e) { // the exception is not passed on, because its message quotes the payload
            return false;
        }
    }
}
