package outbox.cli;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.PostgresServer;
import outbox.testing.server.RabbitServer;

import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests the released archive: its content, its list of libraries, and that it runs. The build runs this test after
 * packaging.
 */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("mariadb")
@Tag("process")
@Tag("rabbitmq")
class ArchiveTest {

    private static final Path ARCHIVE = Path.of(System.getProperty("outbox.archive", "target/outbox.jar"));

    /** A library needs one of these licences: if it has several, it may be used under any of them. */
    private static final List<String> ALLOWED =
            List.of("Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "EPL-", "MPL-2.0");

    /** Distributed under the LGPL: the archive contains its text and explains how to replace the library (ADR 28). */
    private static final Map<String, String> EXCEPTIONS =
            Map.of("org.mariadb.jdbc:mariadb-java-client", "LGPL-2.1-or-later");

    /** The library of each package in the archive. */
    private static final Map<String, String> OWNERS = Map.ofEntries(
            Map.entry("outbox/", "io.outbox"),
            Map.entry("com/rabbitmq/", "com.rabbitmq:amqp-client"),
            Map.entry("com/fasterxml/jackson/core/", "com.fasterxml.jackson.core:jackson-core"),
            Map.entry("com/zaxxer/hikari/", "com.zaxxer:HikariCP"),
            Map.entry("io/micrometer/", "io.micrometer:micrometer-core"),
            Map.entry("io/prometheus/metrics/", "io.prometheus:prometheus-metrics-core"),
            Map.entry("org/HdrHistogram/", "org.hdrhistogram:HdrHistogram"),
            Map.entry("org/LatencyUtils/", "org.latencyutils:LatencyUtils"),
            Map.entry("org/h2/", "com.h2database:h2"),
            Map.entry("org/mariadb/jdbc/", "org.mariadb.jdbc:mariadb-java-client"),
            Map.entry("org/postgresql/", "org.postgresql:postgresql"),
            Map.entry("org/slf4j/", "org.slf4j:slf4j-api"),
            Map.entry("picocli/", "info.picocli:picocli"));

    /** Code that libraries contain under their own packages, and its name in the list. */
    private static final Map<String, String> INSIDE = Map.of(
            "com/fasterxml/jackson/core/internal/shaded/fdp/", "FastDoubleParser",
            "com/fasterxml/jackson/core/io/schubfach/", "Schubfach",
            "io/prometheus/metrics/shaded/com_google_protobuf_", "Protocol Buffers",
            "org/postgresql/shaded/com/ongres/", "OnGres");

    private static Set<String> names() throws IOException {
        try (JarFile archive = new JarFile(ARCHIVE.toFile())) {
            return archive.stream().map(entry -> entry.getName()).collect(Collectors.toCollection(TreeSet::new));
        }
    }

    private static String text(String name) throws IOException {
        try (JarFile archive = new JarFile(ARCHIVE.toFile());
                InputStream entry = archive.getInputStream(Objects.requireNonNull(archive.getEntry(name), name))) {
            return new String(entry.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** The licences of each library, by group and name, from the list in the archive. */
    private static Map<String, List<String>> thirdParty() throws IOException {
        Map<String, List<String>> libraries = new LinkedHashMap<>();
        List<String> licences = new ArrayList<>();
        for (String line : text("META-INF/THIRD-PARTY.txt").lines().toList()) {
            if (line.matches("[\\w.-]+:[\\w.-]+:[\\w.-]+")) {
                licences = new ArrayList<>();
                libraries.put(line.substring(0, line.lastIndexOf(':')), licences);
            } else if (line.startsWith("    ")) {
                licences.add(line.strip());
            }
        }
        return libraries;
    }

    private static boolean isAllowed(String library, List<String> licences) {
        String exception = EXCEPTIONS.get(library);
        return licences.stream()
                .anyMatch(licence -> ALLOWED.stream().anyMatch(licence::startsWith)
                        || exception != null && licence.startsWith(exception));
    }

    @Test
    void every_library_is_listed_with_a_licence_that_allows_to_pass_it_on() throws IOException {
        Map<String, List<String>> libraries = thirdParty();

        assertThat(libraries).hasSizeGreaterThan(10);
        assertThat(libraries)
                .allSatisfy((library, licences) -> assertThat(isAllowed(library, licences))
                        .as("%s: %s", library, licences)
                        .isTrue());
        assertThat(names()).contains("META-INF/licenses/LGPL-2.1.txt", "META-INF/licenses/MPL-2.0.txt");
    }

    @Test
    void a_licence_that_binds_users_is_refused() {
        assertThat(isAllowed("com.mysql:mysql-connector-j", List.of("GPL-2.0-with-FOSS-exception")))
                .isFalse();
        assertThat(isAllowed("some:library", List.of("LGPL-2.1-or-later"))).isFalse();
        assertThat(isAllowed("some:library", List.of("unknown"))).isFalse();
        assertThat(isAllowed("some:library", List.of("AGPL-3.0-only", "Apache-2.0 (https://…)")))
                .isTrue();
    }

    @Test
    void all_classes_belong_to_a_library_of_the_list() throws IOException {
        Map<String, List<String>> libraries = thirdParty();

        assertThat(names().stream()
                        .filter(name -> name.endsWith(".class"))
                        .map(name -> name.replaceFirst("^META-INF/versions/\\d+/", ""))
                        .filter(name -> OWNERS.keySet().stream().noneMatch(name::startsWith)))
                .as("classes of a library that is not known here")
                .isEmpty();
        assertThat(names().stream()
                        .filter(name -> name.endsWith(".class") && name.contains("/shaded/"))
                        .map(name -> name.replaceFirst("^META-INF/versions/\\d+/", ""))
                        .filter(name -> INSIDE.keySet().stream().noneMatch(name::startsWith)))
                .as("classes inside of a library that are not known here")
                .isEmpty();
        assertThat(text("META-INF/THIRD-PARTY.txt")).contains(INSIDE.values());
        assertThat(libraries.keySet())
                .containsAll(OWNERS.values().stream()
                        .filter(owner -> owner.contains(":"))
                        .toList());
    }

    @Test
    void scanners_find_the_version_of_each_library() throws IOException {
        String list = text("META-INF/THIRD-PARTY.txt");
        String bill = text("META-INF/sbom/outbox.cdx.json");

        for (String library : thirdParty().keySet()) {
            Properties properties = new Properties();
            properties.load(new StringReader(text("META-INF/maven/" + library.replace(':', '/') + "/pom.properties")));
            String version = properties.getProperty("version");
            assertThat(list).contains(library + ":" + version + "\n");
            assertThat(bill).contains("pkg:maven/" + library.replace(':', '/') + "@" + version);
        }
        assertThat(text("META-INF/maven/io.outbox/outbox-core/pom.properties")).contains("version=");
    }

    @Test
    void what_a_client_does_not_need_is_left_out() throws IOException {
        assertThat(names())
                .noneMatch(name -> name.startsWith("io/netty/"))
                .noneMatch(name -> name.startsWith("org/h2/server/"))
                .noneMatch(name -> name.startsWith("org/h2/tools/Server") || name.startsWith("org/h2/tools/Console"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "postgresql", "mariadb"})
    void it_makes_and_shows_a_table(String product, @TempDir Path directory) throws Exception {
        String url = switch (product) {
            case "h2" -> "jdbc:h2:file:" + directory.resolve("a");
            case "postgresql" -> PostgresServer.shared().createDatabase();
            default -> MariaDbServer.shared().createDatabase();
        };
        Map<String, String> environment = Map.of("OUTBOX_JDBC_URL", url);

        assertThat(run(environment, "schema", "apply", "--table", "outbox_event", "--yes"))
                .contains("outbox_event");
        assertThat(run(environment, "status", "--table", "outbox_event")).contains("outbox_event");
        assertThat(run(environment, "doctor", "--table", "outbox_event", "--without", "durability"))
                .contains("No problem found in outbox_event");
    }

    @Test
    void it_reads_dead_letters_without_netty() throws Exception {
        RabbitServer server = RabbitServer.shared();
        String uri = server.uri(server.createVirtualHost());

        assertThat(run(Map.of("OUTBOX_AMQP_URI", uri), "dlq", "list", "--queue", "none"))
                .contains("none")
                .doesNotContain("NoClassDefFoundError");
        assertThat(run(Map.of("OUTBOX_AMQP_URI", uri.replace("amqp:", "amqps:")), "dlq", "list", "--queue", "none"))
                .doesNotContain("NoClassDefFoundError", "ClassNotFoundException");
    }

    private static String run(Map<String, String> environment, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-jar", ARCHIVE.toString()));
        command.addAll(List.of(arguments));
        Path output = Files.createTempFile("outbox-archive", ".log");
        try {
            ProcessBuilder process =
                    new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
            process.environment().putAll(environment);
            Process running = process.start();
            if (!running.waitFor(60, TimeUnit.SECONDS)) {
                running.destroyForcibly();
            }
            return Files.readString(output);
        } finally {
            Files.delete(output);
        }
    }
}
