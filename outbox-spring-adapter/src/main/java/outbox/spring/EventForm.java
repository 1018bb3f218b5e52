package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.core.annotation.AnnotatedElementUtils;
import outbox.AggregateType;
import outbox.EventEnvelope;

import java.util.function.UnaryOperator;

/**
 * Describes how an object of a class with {@link OutboxEvent} becomes an event. Immutable.
 *
 * @param aggregateId how to read the aggregate id, or null if the event has none
 * @param key how to read the deduplication key, or null if the event has none
 * @param tenant how to read the tenant, or null if the event has none
 */
record EventForm(
        String outbox,
        String type,
        String aggregateType,
        int version,
        @Nullable EventValue aggregateId,
        @Nullable EventValue key,
        @Nullable EventValue tenant) {

    /**
     * Returns the form of the class, or null if it has no {@link OutboxEvent}. An exception about a wrong annotation
     * names the class.
     */
    static @Nullable EventForm of(Class<?> eventClass, UnaryOperator<String> resolver) {
        OutboxEvent annotation = AnnotatedElementUtils.findMergedAnnotation(eventClass, OutboxEvent.class);
        return annotation == null ? null : of(eventClass, annotation, resolver);
    }

    private static EventForm of(Class<?> eventClass, OutboxEvent annotation, UnaryOperator<String> resolver) {
        String type = resolver.apply(annotation.type());
        String aggregate = resolver.apply(annotation.aggregate());
        if (annotation.version() < 1) {
            throw new IllegalArgumentException("version of @OutboxEvent on " + eventClass.getName()
                    + " must be at least 1: " + annotation.version());
        }
        try {
            EventForm form = new EventForm(
                    resolver.apply(annotation.outbox()),
                    type,
                    aggregate.isEmpty() ? AggregateType.GLOBAL.name() : aggregate,
                    annotation.version(),
                    EventValue.of(eventClass, "aggregateId", resolver.apply(annotation.aggregateId())),
                    EventValue.of(eventClass, "key", resolver.apply(annotation.key())),
                    EventValue.of(eventClass, "tenant", resolver.apply(annotation.tenant())));
            form.builder().payloadJson("{}").build(); // throws if a name is not valid for an event
            return form;
        } catch (outbox.InvalidEventException e) {
            throw new IllegalArgumentException(
                    "@OutboxEvent on " + eventClass.getName() + " cannot be used: " + e.getMessage(), e);
        }
    }

    private EventEnvelope.Builder builder() {
        return EventEnvelope.builder(type).aggregateType(aggregateType).schemaVersion(version);
    }

    EventEnvelope event(Object object, String payload) {
        EventEnvelope.Builder builder = builder().payloadJson(payload);
        if (aggregateId != null) {
            builder.aggregateId(aggregateId.required(object));
        }
        if (key != null) {
            builder.dedupKey(key.required(object));
        }
        if (tenant != null) {
            builder.tenantId(tenant.of(object));
        }
        return builder.build();
    }
}
