package outbox.boot;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.OutboxWriter;
import outbox.admin.OutboxAdmin;
import outbox.spring.ListenerSource;
import outbox.spring.OutboxListeners;

import java.util.stream.Collectors;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Some combinations of optional libraries. outbox-spring-boot tests all of them, on one line of Spring Boot. */
class CombinationsTest {

    private static final String ACTUATOR = "org.springframework.boot.actuate,org.springframework.boot.health";
    private static final String MICROMETER = "io.micrometer.core,outbox.micrometer";
    private static final String TRACING = "io.opentelemetry,io.micrometer.tracing,outbox.opentelemetry";
    private static final String RABBIT = "org.springframework.amqp,com.rabbitmq,outbox.rabbitmq";

    @ParameterizedTest
    @ValueSource(
            strings = {
                "nothing.at.all",
                ACTUATOR,
                MICROMETER + "," + TRACING,
                RABBIT,
                ACTUATOR + "," + MICROMETER + "," + TRACING + "," + RABBIT
            })
    void an_application_without_these_packages_starts_and_delivers(String packages) {
        String[] hidden = packages.split(",");
        new ApplicationContextRunner()
                .withClassLoader(new FilteredClassLoader(hidden))
                .withUserConfiguration(EmptyApplication.class)
                .withBean(ListenerSource.class, CombinationsTest::listener)
                .withPropertyValues(
                        "spring.autoconfigure.exclude=" + autoConfigurationsIn(hidden),
                        "spring.datasource.generate-unique-name=true")
                .run(CombinationsTest::deliver);
    }

    private static ListenerSource listener() {
        return (outbox, listeners) -> listeners.add(new OutboxListeners.Entry("*", "*", event -> {}, "the test"));
    }

    /**
     * Returns the auto-configurations in the hidden packages, because the file that lists them would be missing too.
     */
    private static String autoConfigurationsIn(String... hidden) {
        return ImportCandidates.load(AutoConfiguration.class, CombinationsTest.class.getClassLoader())
                .getCandidates()
                .stream()
                .filter(name -> Stream.of(hidden).anyMatch(part -> name.startsWith(part + ".")))
                .collect(Collectors.joining(","));
    }

    private static void deliver(ApplicationContext context) {
        OutboxWriter writer = context.getBean(OutboxWriter.class);
        new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
                .executeWithoutResult(status -> writer.write("order.created", "{}"));
        await().untilAsserted(() -> assertThat(
                        context.getBean(OutboxAdmin.class).backlog().pending())
                .isZero());
    }
}
