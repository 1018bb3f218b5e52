package outbox.relay;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.EventEnvelope;
import outbox.poller.OutboxPollerHandler;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

class RelayHandlerTest {

    static Stream<Method> questions() {
        return Arrays.stream(OutboxPollerHandler.class.getMethods())
                .filter(method -> !Modifier.isStatic(method.getModifiers()));
    }

    @ParameterizedTest
    @MethodSource("questions")
    void whatever_the_poller_asks_reaches_the_handler_of_the_dispatcher(Method question) throws Exception {
        List<String> asked = new ArrayList<>();
        OutboxPollerHandler dispatcher = (OutboxPollerHandler) Proxy.newProxyInstance(
                OutboxPollerHandler.class.getClassLoader(),
                new Class<?>[] {OutboxPollerHandler.class},
                (proxy, method, arguments) -> {
                    asked.add(method.getName());
                    return answer(method.getReturnType());
                });
        Object[] arguments = question.getName().equals("handle")
                ? new Object[] {EventEnvelope.ofJson("T", "{}"), 0}
                : new Object[question.getParameterCount()];

        question.invoke(new RelayHandler(dispatcher, "outbox_event"), arguments);

        assertThat(asked).containsExactly(question.getName());
    }

    private static @Nullable Object answer(Class<?> type) {
        if (type == boolean.class) {
            return true;
        } else if (type == int.class) {
            return 1;
        } else if (type == long.class) {
            return 1L;
        }
        return null;
    }
}
