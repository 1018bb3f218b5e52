package outbox.spring;

import org.junit.jupiter.api.Test;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.annotation.ReflectiveRuntimeHintsRegistrar;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;

import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/** The hints for annotated methods and classes in a native image. */
class ListenerHintsTest {

    record Line(String item) {}

    record Order(String id, List<Line> lines) {}

    static class Mail {
        @OutboxListener("paid")
        void on(Order order) {}
    }

    @OutboxEvent("sent")
    record Sent(String id) {}

    @Test
    void listeners_and_payloads_are_reachable_by_reflection() {
        RuntimeHints hints = new RuntimeHints();

        new ReflectiveRuntimeHintsRegistrar().registerRuntimeHints(hints, Mail.class, Sent.class);

        assertThat(RuntimeHintsPredicates.reflection()
                        .onMethod(Mail.class, "on")
                        .and(RuntimeHintsPredicates.reflection().onMethod(Order.class, "id"))
                        .and(RuntimeHintsPredicates.reflection().onMethod(Line.class, "item"))
                        .and(RuntimeHintsPredicates.reflection().onMethod(Sent.class, "id")))
                .accepts(hints);
    }
}
