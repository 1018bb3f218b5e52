package outbox.spring.boot;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.AbstractApplicationContextRunner;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;
import outbox.admin.OutboxAdmin;
import outbox.spring.ListenerSource;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The outbox works with and without each optional library. By default, the test runs with none, with all, with each
 * one alone, and with all but one; {@code -Dcombinations=all} runs every combination.
 */
class CombinationsTest {

    /** The optional libraries, and the packages that are hidden without them. */
    private static final Map<String, List<String>> PARTS = new TreeMap<>(Map.of(
            "actuator", List.of("org.springframework.boot.actuate", "org.springframework.boot.health"),
            "Micrometer", List.of("io.micrometer.core", "outbox.micrometer"),
            "tracing", List.of("io.opentelemetry", "io.micrometer.tracing", "outbox.opentelemetry"),
            "RabbitMQ", List.of("org.springframework.amqp", "com.rabbitmq", "outbox.rabbitmq"),
            "web", List.of("org.springframework.web.servlet"),
            "Flyway", List.of("org.flywaydb")));

    static Stream<Set<String>> combinations() {
        List<Set<String>> all = new ArrayList<>(List.of(Set.of()));
        for (String part : PARTS.keySet()) {
            for (Set<String> parts : List.copyOf(all)) {
                Set<String> more = new TreeSet<>(parts);
                more.add(part);
                all.add(more);
            }
        }
        boolean every = "all".equals(System.getProperty("combinations"));
        return all.stream().filter(parts -> every || parts.size() <= 1 || parts.size() >= PARTS.size() - 1);
    }

    @ParameterizedTest
    @MethodSource("combinations")
    void an_application_starts_and_delivers(Set<String> parts) {
        String[] hidden = PARTS.entrySet().stream()
                .filter(part -> !parts.contains(part.getKey()))
                .flatMap(part -> part.getValue().stream())
                .toArray(String[]::new);
        if (parts.contains("web")) {
            run(new WebApplicationContextRunner(), hidden);
        } else {
            run(new ApplicationContextRunner(), hidden);
        }
    }

    private static void run(AbstractApplicationContextRunner<?, ?, ?> runner, String... hidden) {
        runner.withClassLoader(new FilteredClassLoader(hidden))
                .withUserConfiguration(Application.class)
                .withBean(ListenerSource.class, () -> EngineRunner.on("*", event -> {}))
                .withPropertyValues(
                        "spring.autoconfigure.exclude=" + autoConfigurationsIn(hidden),
                        "spring.datasource.generate-unique-name=true",
                        "spring.flyway.locations=classpath:db/migration-of-test")
                .run(context -> deliver((ApplicationContext) context));
    }

    /**
     * Returns the auto-configurations in the hidden packages, because the file that lists them would be missing too.
     */
    private static String autoConfigurationsIn(String... hidden) {
        return ImportCandidates.load(AutoConfiguration.class, CombinationsTest.class.getClassLoader())
                .getCandidates()
                .stream()
                .filter(name -> !name.startsWith("outbox.")) // ours are part of the starter
                .filter(name -> Stream.of(hidden).anyMatch(part -> name.startsWith(part + ".")))
                .collect(Collectors.joining(","));
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
