package outbox.spring.boot;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.json.JsonParserFactory;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/** Every property is described, and has a test. */
class MetadataTest {

    private static List<Map<String, Object>> properties = List.of();

    @BeforeAll
    @SuppressWarnings("unchecked")
    static void read() throws IOException {
        try (InputStream in = Objects.requireNonNull(OutboxProperties.class
                .getClassLoader()
                .getResourceAsStream("META-INF/spring-configuration-metadata.json"))) {
            String json = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            properties = ((List<Map<String, Object>>) Objects.requireNonNull(
                            JsonParserFactory.getJsonParser().parseMap(json).get("properties")))
                    .stream()
                            .filter(property -> name(property).startsWith("outbox."))
                            .toList();
        }
    }

    @Test
    void every_property_is_described() {
        assertThat(properties).hasSizeGreaterThan(40).allSatisfy(property -> assertThat(
                        String.valueOf(property.get("description")))
                .as(name(property))
                .hasSizeGreaterThan(10));
    }

    @Test
    void every_property_is_named_by_a_test() throws IOException {
        String tests;
        try (Stream<Path> files = Files.walk(Path.of("src/test/java"))) {
            tests = files.filter(file -> file.toString().endsWith(".java"))
                    .map(MetadataTest::text)
                    .collect(Collectors.joining("\n"));
        }

        assertThat(properties)
                .allSatisfy(property -> assertThat(tests.contains(name(property)))
                        .as("a test of " + name(property))
                        .isTrue());
    }

    private static String name(Map<String, Object> property) {
        return String.valueOf(property.get("name"));
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
