package outbox.spring.boot.autoconfigure;

import org.junit.jupiter.api.Test;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.core.io.support.SpringFactoriesLoader;

import static org.assertj.core.api.Assertions.assertThat;

class OutboxHintsTest {

    @Test
    void a_native_image_keeps_the_scripts_of_the_tables() {
        RuntimeHints hints = new RuntimeHints();
        SpringFactoriesLoader.forResourceLocation("META-INF/spring/aot.factories")
                .load(RuntimeHintsRegistrar.class)
                .stream()
                .filter(OutboxHints.class::isInstance)
                .forEach(ours -> ours.registerHints(hints, getClass().getClassLoader()));

        assertThat(RuntimeHintsPredicates.resource()
                        .forResource("META-INF/outbox/schema/postgresql/V1__outbox_event.sql"))
                .accepts(hints);
        assertThat(RuntimeHintsPredicates.resource()
                        .forResource("META-INF/outbox/schema-control/h2/V4__outbox_pause.sql"))
                .accepts(hints);
    }
}
