package outbox.spring;

import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.aot.hint.annotation.SimpleReflectiveProcessor;

import java.lang.reflect.Method;

/**
 * Registers the hints that a native image needs for a listener: the method and its parameter types, which
 * may be payloads.
 */
final class ListenerMethodHints extends SimpleReflectiveProcessor {

    private final BindingReflectionHintsRegistrar types = new BindingReflectionHintsRegistrar();

    @Override
    protected void registerMethodHint(ReflectionHints hints, Method method) {
        super.registerMethodHint(hints, method);
        for (ListenerParameter parameter : ListenerParameter.of(method, method.getDeclaringClass())) {
            Class<?> payload = parameter.payloadType();
            if (payload != null) {
                types.registerReflectionHints(hints, payload);
            }
        }
    }
}
