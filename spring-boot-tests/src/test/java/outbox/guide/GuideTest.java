package outbox.guide;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.handler.NoUnboundElementsBindHandler;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.core.env.PropertiesPropertySource;

import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Checks the guide against the build: its Java code is part of compiled tests and samples, its properties exist, and
 * its links are valid.
 */
class GuideTest {

    private static final Path ROOT = Path.of("..", "..");
    private static final Pattern BLOCK = Pattern.compile("^```(\\w+)\n(.*?)^```$", Pattern.DOTALL | Pattern.MULTILINE);
    private static final Pattern LINK = Pattern.compile("]\\(([^)\\s#]*)(#[^)\\s]+)?\\)");
    private static final Pattern KEY =
            Pattern.compile("`(outbox\\.[a-z0-9.\\[\\]-]*[a-z0-9\\]])(?:\\.\\*)?(?:=[^`]*)?`");
    private static final Pattern FIGURE = Pattern.compile("class=\"figure\"[^>]*>([^<]+)<");
    private static final Pattern METADATA_NAME = Pattern.compile("\"name\":\\s*\"(outbox\\.[^\"]+)\"");

    /** A code block and its page. */
    private record Block(Path page, String language, String code) {

        /** Returns the code without white space, so that indentation and line breaks do not matter. */
        String stripped() {
            return GuideTest.stripped(code);
        }
    }

    static List<Path> pages() throws IOException {
        List<Path> pages = new ArrayList<>(List.of(ROOT.resolve("README.md"), ROOT.resolve("README.zh-CN.md")));
        try (Stream<Path> files = Files.list(ROOT.resolve("docs/guide"))) {
            files.filter(file -> file.toString().endsWith(".md")).sorted().forEach(pages::add);
        }
        assertThat(pages).hasSizeGreaterThan(10);
        return pages;
    }

    private static String stripped(String code) {
        return code.replaceAll("\\s+", "");
    }

    private static List<Block> blocks(Path page) throws IOException {
        List<Block> blocks = new ArrayList<>();
        Matcher block = BLOCK.matcher(Files.readString(page));
        while (block.find()) {
            blocks.add(new Block(page, block.group(1), block.group(2)));
        }
        return blocks;
    }

    /** Returns all compiled test sources and the samples. */
    private static List<String> sources() throws IOException {
        List<String> sources = new ArrayList<>();
        Files.walkFileTree(ROOT, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
                String name = directory.getFileName().toString();
                return name.equals("target") || name.equals(".git")
                        ? FileVisitResult.SKIP_SUBTREE // other builds write there
                        : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                String path = file.toString();
                if (path.endsWith(".java")
                        && !path.endsWith("GuideTest.java")
                        && (path.contains("/src/test/") || path.contains("/samples/"))) {
                    sources.add(stripped(Files.readString(file)));
                }
                return FileVisitResult.CONTINUE;
            }
        });
        assertThat(sources).hasSizeGreaterThan(100);
        return sources;
    }

    @Test
    void java_on_the_pages_is_that_of_a_test_or_a_sample() throws IOException {
        List<String> sources = sources();
        List<String> foreign = new ArrayList<>();
        for (Path page : pages()) {
            for (Block block : blocks(page)) {
                if (block.language().equals("java")
                        && !onlyImports(block)
                        && sources.stream().noneMatch(source -> source.contains(block.stripped()))) {
                    foreign.add(page.getFileName() + ":\n" + block.code());
                }
            }
        }

        assertThat(foreign).isEmpty();
    }

    /** The README abbreviates the imports of its first program. */
    private static boolean onlyImports(Block block) {
        return block.code().lines().allMatch(line -> line.startsWith("import "));
    }

    @Test
    void properties_on_the_pages_exist() throws IOException {
        Set<String> known = metadata();
        List<String> unknown = new ArrayList<>();
        for (Path page : pages()) {
            for (String key : keys(page)) {
                if (!exists(key, known)) {
                    unknown.add(page.getFileName() + ": " + key);
                }
            }
        }

        assertThat(unknown).isEmpty();
    }

    /** Returns the keys in property blocks and in the text. */
    private static List<String> keys(Path page) throws IOException {
        List<String> keys = new ArrayList<>();
        for (Block block : blocks(page)) {
            if (block.language().equals("properties")) {
                block.code()
                        .lines()
                        .filter(line -> line.startsWith("outbox."))
                        .forEach(line -> keys.add(line.replaceFirst("=.*", "")));
            }
        }
        Matcher key = KEY.matcher(Files.readString(page));
        while (key.find()) {
            keys.add(key.group(1));
        }
        return keys;
    }

    /** A named outbox has the same keys as the single one. For a list, the metadata contains only its own name. */
    private static boolean exists(String key, Set<String> known) {
        String plain = key.replaceFirst("^outbox\\.named\\.[^.]+", "outbox");
        int index = plain.indexOf('[');
        return known.contains(index < 0 ? plain : plain.substring(0, index));
    }

    /** The keys below a list or a map, which the metadata does not contain. */
    @ParameterizedTest
    @CsvSource({
        "outbox.rabbitmq,rabbit.OutboxRabbitProperties",
        "outbox.http,http.OutboxHttpProperties",
        "outbox.retry,internal.OutboxProperties$Retry"
    })
    void properties_of_lists_bind_to_their_records(String prefix, String type) throws Exception {
        int found = 0;
        for (Path page : pages()) {
            for (Block block : blocks(page)) {
                Properties properties = new Properties();
                properties.load(new StringReader(block.code()));
                if (block.language().equals("properties")
                        && properties.stringPropertyNames().stream().anyMatch(key -> key.startsWith(prefix + "."))) {
                    assertBinds(properties, prefix, Class.forName("outbox.spring.boot." + type));
                    found++;
                }
            }
        }

        assertThat(found).isPositive();
    }

    private static void assertBinds(Properties properties, String prefix, Class<?> type) {
        Binder binder = new Binder(ConfigurationPropertySources.from(new PropertiesPropertySource("page", properties)));
        assertThat(binder.bind(prefix, Bindable.of(type), new NoUnboundElementsBindHandler(BindHandler.DEFAULT))
                        .isBound())
                .isTrue();
    }

    /** Returns the keys of the configuration metadata, and their groups. */
    private static Set<String> metadata() throws IOException {
        Set<String> names = new HashSet<>();
        for (URL url : Collections.list(
                GuideTest.class.getClassLoader().getResources("META-INF/spring-configuration-metadata.json"))) {
            try (InputStream in = url.openStream()) {
                Matcher name = METADATA_NAME.matcher(new String(in.readAllBytes(), StandardCharsets.UTF_8));
                while (name.find()) {
                    names.add(name.group(1));
                }
            }
        }
        assertThat(names).isNotEmpty();
        return names;
    }

    @ParameterizedTest
    @MethodSource("pages")
    void links_lead_somewhere(Path page) throws IOException {
        Matcher link = LINK.matcher(Files.readString(page).replaceAll("(?s)```.*?```", ""));
        while (link.find()) {
            if (link.group(1).contains(":")) {
                continue; // another site
            }
            Path target = link.group(1).isEmpty()
                    ? page
                    : page.resolveSibling(link.group(1)).normalize();
            assertThat(target).as("%s in %s", link.group(), page).exists();
            if (link.group(2) != null && target.toString().endsWith(".md")) {
                assertThat(anchors(target)).as("%s in %s", link.group(), page).contains(link.group(2));
            }
        }
    }

    /** The chart is drawn by hand and must be drawn again after a new run of the benchmark. */
    @Test
    void the_chart_of_the_readme_shows_the_figures_of_the_report() throws IOException {
        String report = Files.readString(ROOT.resolve("docs/benchmarks/postgresql.md"));
        String chart = Files.readString(ROOT.resolve("docs/images/throughput.svg"));

        List<String> figures =
                FIGURE.matcher(chart).results().map(figure -> figure.group(1)).toList();

        assertThat(figures).hasSize(12).allSatisfy(figure -> assertThat(report).contains("| " + figure + " ("));
    }

    private static List<String> anchors(Path page) throws IOException {
        return Files.readString(page)
                .lines()
                .filter(line -> line.startsWith("#"))
                .map(line -> "#"
                        + line.replaceFirst("^#+ ", "")
                                .toLowerCase(Locale.ROOT)
                                .replaceAll("[^\\p{L}\\p{N} _-]", "")
                                .replace(' ', '-'))
                .toList();
    }
}
