package outbox.spring.boot.autoconfigure;

import org.junit.jupiter.api.Test;
import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.InMemoryGeneratedFiles;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.boot.autoconfigure.AutoConfigurationPackage;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.javapoet.ClassName;
import outbox.spring.OutboxEvent;

import static org.assertj.core.api.Assertions.assertThat;

class EventClassHintsProcessorTest {

    @OutboxEvent("sent")
    record Sent(String id) {}

    @Configuration(proxyBeanMethods = false)
    @AutoConfigurationPackage
    static class Application {}

    @Test
    void event_classes_in_the_packages_of_the_application_are_known_ahead_of_time() {
        DefaultGenerationContext generation = new DefaultGenerationContext(
                new ClassNameGenerator(ClassName.get("generated", "Main")), new InMemoryGeneratedFiles());
        try (var context = new AnnotationConfigApplicationContext()) {
            context.register(Application.class);

            new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
        }

        assertThat(RuntimeHintsPredicates.reflection().onType(Sent.class)).accepts(generation.getRuntimeHints());
    }
}
