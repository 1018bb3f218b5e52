package outbox.internal;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.fake.CapturedLog;
import outbox.fake.CountedMetrics;
import outbox.spi.MetricsExporter;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Arrays;
import java.util.logging.Level;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

class GuardedMetricsTest {

    static Stream<Method> everyMethod() {
        return Arrays.stream(MetricsExporter.class.getMethods())
                .filter(method -> !Modifier.isStatic(method.getModifiers()));
    }

    @ParameterizedTest
    @MethodSource("everyMethod")
    void every_method_is_forwarded_with_its_arguments(Method method) throws Exception {
        CountedMetrics counted = new CountedMetrics();
        Object[] arguments = arguments(method);

        method.invoke(GuardedMetrics.of(counted.exporter()), arguments);

        assertThat(counted.count(method.getName())).isEqualTo(1);
        assertThat(counted.last(method.getName())).isEqualTo(arguments);
    }

    @ParameterizedTest
    @MethodSource("everyMethod")
    void an_exporter_that_throws_harms_nothing(Method method) throws Exception {
        try (CapturedLog log = CapturedLog.of(GuardedMetrics.class)) {
            method.invoke(GuardedMetrics.of(throwing(new IllegalStateException("broken"))), arguments(method));

            assertThat(log.messages(Level.WARNING)).singleElement().asString().contains("metrics exporter failed");
        }
    }

    @ParameterizedTest
    @MethodSource("everyMethod")
    void an_exporter_that_was_built_against_another_version_harms_nothing(Method method) throws Exception {
        try (CapturedLog log = CapturedLog.of(GuardedMetrics.class)) {
            method.invoke(GuardedMetrics.of(throwing(new NoSuchMethodError("gone"))), arguments(method));

            assertThat(log.messages(Level.WARNING)).hasSize(1);
        }
    }

    @Test
    void an_exporter_is_guarded_once() {
        MetricsExporter guarded = GuardedMetrics.of(new CountedMetrics().exporter());

        assertThat(GuardedMetrics.of(guarded)).isSameAs(guarded);
        assertThat(GuardedMetrics.of(MetricsExporter.NOOP)).isSameAs(MetricsExporter.NOOP);
    }

    @ParameterizedTest
    @MethodSource("everyMethod")
    void the_exporter_that_discards_everything_takes_every_call(Method method) throws Exception {
        assertThat(method.invoke(MetricsExporter.NOOP, arguments(method))).isNull();
    }

    private static MetricsExporter throwing(Throwable error) {
        return (MetricsExporter) Proxy.newProxyInstance(
                GuardedMetricsTest.class.getClassLoader(), new Class<?>[] {MetricsExporter.class}, (InvocationHandler)
                        (self, method, arguments) -> {
                            throw error;
                        });
    }

    private static Object[] arguments(Method method) {
        Object[] arguments = new Object[method.getParameterCount()];
        for (int i = 0; i < arguments.length; i++) {
            Class<?> type = method.getParameterTypes()[i];
            if (type == int.class) {
                arguments[i] = 7 + i;
            } else if (type == long.class) {
                arguments[i] = 7L + i;
            } else if (type == String.class) {
                arguments[i] = "text " + i;
            } else if (type == boolean.class) {
                arguments[i] = true;
            } else if (type == Duration.class) {
                arguments[i] = Duration.ofMillis(7 + i);
            } else {
                throw new AssertionError("Teach this test an argument of type " + type);
            }
        }
        return arguments;
    }
}
