package outbox.spring.boot;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.json.JsonParserFactory;
import org.springframework.util.ClassUtils;
import outbox.spring.boot.internal.OutboxProperties;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/** Every property has a description and a test. */
class MetadataTest {

    private static List<Map<String, Object>> properties = List.of();

    // regular expressions for the ways to write a key
    private final Map<String, List<String>> places = new TreeMap<>();

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
        assertThat(properties)
                .hasSizeGreaterThan(40)
                .allSatisfy(property -> assertThat(String.valueOf(property.get("description")))
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

        properties.forEach(property ->
                collect(name(property), Pattern.quote(name(property)), String.valueOf(property.get("type"))));
        assertThat(places.keySet())
                .hasSizeGreaterThan(properties.size())
                .allSatisfy(key -> assertThat(places.getOrDefault(key, List.of()))
                        .as("places of " + key + ", of which a test has one")
                        .anyMatch(place -> Pattern.compile(place).matcher(tests).find()));
    }

    /**
     * Collects the ways to write a key. For a list or map of records, it also collects the keys inside, because the
     * metadata does not contain them. A record that occurs several times has each key once.
     */
    private void collect(String key, String place, String type) {
        boolean hasEntries = type.startsWith("java.util.");
        Matcher ours = Pattern.compile("outbox\\.spring\\.boot\\.[\\w.$]+").matcher(type);
        Class<?> record = ours.find()
                ? ClassUtils.resolveClassName(ours.group(), MetadataTest.class.getClassLoader())
                : Object.class;
        if (!record.isRecord() || record == OutboxProperties.class) {
            places.computeIfAbsent(key, first -> new ArrayList<>())
                    .add("(?<![a-z0-9.-])" + place + (hasEntries ? "(?![a-z0-9-])" : "(?![a-z0-9.\\[-])"));
            return;
        }
        String below = place + (hasEntries ? "(\\.[a-z0-9-]+|\\[[^\\]]*])" : "") + "\\.";
        for (RecordComponent part : record.getRecordComponents()) {
            String name = DataObjectPropertyName.toDashedForm(part.getName());
            collect(
                    record.getSimpleName() + "." + name,
                    below + name,
                    part.getGenericType().getTypeName());
        }
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
