package outbox.spring;

import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.aot.hint.annotation.ReflectiveProcessor;

import java.lang.reflect.AnnotatedElement;

/** Registers the reflection hints that a native image needs to serialize an {@link OutboxEvent} to a payload. */
final class EventClassHints implements ReflectiveProcessor {

    @Override
    public void registerReflectionHints(ReflectionHints hints, AnnotatedElement element) {
        if (element instanceof Class<?> type) {
            new BindingReflectionHintsRegistrar().registerReflectionHints(hints, type);
        }
    }
}
