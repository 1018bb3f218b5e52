package outbox.spring.boot;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.AbstractApplicationContextRunner;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;
import outbox.admin.OutboxAdmin;
import outbox.spring.ListenerSource;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** The outbox works with and without everything it can use. */
class CombinationsTest {

    /** What an application may have, and the packages that it has not if it lacks it. */
    enum Part {
        ACTUATOR("org.springframework.boot.actuate", "org.springframework.boot.health"),
        MICROMETER("io.micrometer.core", "outbox.micrometer"),
        TRACING("io.opentelemetry", "io.micrometer.tracing", "outbox.opentelemetry"),
        RABBITMQ("org.springframework.amqp", "com.rabbitmq", "outbox.rabbitmq"),
        WEB("org.springframework.web.servlet"),
        FLYWAY("org.flywaydb");

        private final List<String> packages;

        Part(String... packages) {
            this.packages = List.of(packages);
        }
    }

    static Stream<Set<Part>> combinations() {
        return IntStream.range(0, 1 << Part.values().length).mapToObj(bits -> {
            Set<Part> parts = EnumSet.noneOf(Part.class);
            for (Part part : Part.values()) {
                if ((bits & 1 << part.ordinal()) != 0) {
                    parts.add(part);
                }
            }
            return parts;
        });
    }

    @ParameterizedTest
    @MethodSource("combinations")
    void an_application_starts_and_delivers(Set<Part> parts) {
        List<String> hidden = new ArrayList<>();
        for (Part part : Part.values()) {
            if (!parts.contains(part)) {
                hidden.addAll(part.packages);
            }
        }
        FilteredClassLoader classLoader = new FilteredClassLoader(hidden.toArray(String[]::new));
        if (parts.contains(Part.WEB)) {
            run(new WebApplicationContextRunner(), classLoader);
        } else {
            run(new ApplicationContextRunner(), classLoader);
        }
    }

    private static void run(AbstractApplicationContextRunner<?, ?, ?> runner, ClassLoader classLoader) {
        runner.withClassLoader(classLoader)
                .withUserConfiguration(Application.class)
                .withBean(ListenerSource.class, () -> EngineRunner.on("*", event -> {}))
                .withPropertyValues(
                        "spring.datasource.generate-unique-name=true",
                        "spring.flyway.locations=classpath:db/migration-of-test")
                .run(context -> deliver((ApplicationContext) context));
    }

    private static void deliver(ApplicationContext context) {
        EngineRunner.write(context, "order.created", "{}");
        await().untilAsserted(() -> assertThat(
                        context.getBean(OutboxAdmin.class).backlog().pending())
                .isZero());
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {}
}
