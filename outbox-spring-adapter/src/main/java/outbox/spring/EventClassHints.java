package outbox.spring;

import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.aot.hint.annotation.ReflectiveProcessor;

import java.lang.reflect.AnnotatedElement;

/** What a native image must know of an {@link OutboxEvent}: how to make a payload of it. */
final class EventClassHints implements ReflectiveProcessor {

    @Override
    public void registerReflectionHints(ReflectionHints hints, AnnotatedElement element) {
        if (element instanceof Class<?> type) {
            new BindingReflectionHintsRegistrar().registerReflectionHints(hints, type);
        }
    }
}
