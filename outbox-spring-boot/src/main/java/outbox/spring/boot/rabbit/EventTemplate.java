package outbox.spring.boot.rabbit;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.GiveUpException;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A text with placeholders for values of an event. Immutable. */
final class EventTemplate {

    private static final Pattern PLACEHOLDER = Pattern.compile("\\{([^{}]*)}");
    private static final String HEADER = "header:";

    private record Part(String text, Function<EventEnvelope, @Nullable String> value) {}

    private final String template;
    private final List<Part> parts = new ArrayList<>(); // not changed after the constructor

    /** Throws if the text contains an unknown placeholder. */
    EventTemplate(String template) {
        this.template = template;
        Matcher matcher = PLACEHOLDER.matcher(template);
        int end = 0;
        while (matcher.find()) {
            literal(template.substring(end, matcher.start()));
            parts.add(new Part(matcher.group(), valueOf(matcher.group(1))));
            end = matcher.end();
        }
        literal(template.substring(end));
    }

    private void literal(String text) {
        if (text.indexOf('{') >= 0 || text.indexOf('}') >= 0) {
            throw new IllegalArgumentException("a brace without its other half");
        }
        if (!text.isEmpty()) {
            parts.add(new Part(text, event -> text));
        }
    }

    private static Function<EventEnvelope, @Nullable String> valueOf(String name) {
        if (name.startsWith(HEADER) && name.length() > HEADER.length()) {
            String header = name.substring(HEADER.length());
            return event -> event.headers().get(header);
        }
        return switch (name) {
            case "type" -> EventEnvelope::eventType;
            case "aggregate" -> EventEnvelope::aggregateType;
            case "aggregateId" -> EventEnvelope::aggregateId;
            default ->
                throw new IllegalArgumentException(
                        "{" + name + "} is not known; there are {type}, {aggregate}, {aggregateId} and {header:name}");
        };
    }

    /**
     * Replaces the placeholders. If the event lacks a value, the failure is permanent, because a retry would not
     * change the event.
     */
    String of(EventEnvelope event) {
        StringBuilder text = new StringBuilder();
        for (Part part : parts) {
            String value = part.value().apply(event);
            if (value == null) {
                throw new GiveUpException("Event " + event.eventId() + " (type " + event.eventType() + ") has no "
                        + part.text() + ", which its route '" + template
                        + "' asks for. Change the route, then replay it.");
            }
            text.append(value);
        }
        return text.toString();
    }

    @Override
    public String toString() {
        return template;
    }
}
