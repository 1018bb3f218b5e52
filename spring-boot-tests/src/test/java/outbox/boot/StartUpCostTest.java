package outbox.boot;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Measures how much the starter adds to the start time of an empty application, in separate processes. By
 * default it runs once, as a smoke test. For a measurement, run {@code -Dstartup.runs=20 -Dtest=StartUpCostTest}
 * on an idle machine.
 */
@Tag("process")
class StartUpCostTest {

    private static final Pattern RESULT = Pattern.compile("started in ([0-9]+) ms with ([0-9]+) beans");

    private record Start(long millis, int beans) {}

    @Test
    void the_cost_of_the_starter_is_reported() throws Exception {
        int runs = Integer.getInteger("startup.runs", 1);
        List<String> with = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> !isOfOtherTests(Path.of(entry)))
                .toList();
        List<String> without =
                with.stream().filter(entry -> !isOurs(Path.of(entry))).toList();
        assertThat(without).hasSizeLessThan(with.size());
        List<Start> cheap = new ArrayList<>();
        List<Start> dear = new ArrayList<>();
        if (runs > 1) { // warms up the disk cache
            start(without);
            start(with);
        }
        for (int i = 0; i < runs; i++) { // alternating, so that both have the same conditions
            cheap.add(start(without));
            dear.add(start(with));
        }

        System.out.printf(
                "without: %d ms (%d to %d), %d beans; with: %d ms (%d to %d), %d beans; the starter: %d ms, %d beans%n",
                median(cheap),
                quantile(cheap, 0),
                quantile(cheap, 1),
                cheap.get(0).beans(),
                median(dear),
                quantile(dear, 0),
                quantile(dear, 1),
                dear.get(0).beans(),
                median(dear) - median(cheap),
                dear.get(0).beans() - cheap.get(0).beans());
        assertThat(dear.get(0).beans()).isGreaterThan(cheap.get(0).beans());
    }

    /** Whether only other tests need the entry. */
    private static boolean isOfOtherTests(Path entry) {
        String path = entry.toString().replace(File.separatorChar, '/');
        String name = String.valueOf(entry.getFileName());
        return path.matches(".*/outbox-(testing|spring-boot-test|rabbitmq)/target/.*")
                || name.matches(
                        ".*(actuator|amqp|rabbit|web|tomcat|tracing|opentelemetry|micrometer-(core|jakarta|metrics)).*\\.jar");
    }

    /**
     * Whether the entry is a module of this build, as a directory or a jar. The application itself
     * is in test-classes.
     */
    private static boolean isOurs(Path entry) {
        String path = entry.toString().replace(File.separatorChar, '/');
        return path.matches(".*/outbox-[a-z0-9-]+/target/.*|.*/io/outbox/outbox-.*");
    }

    private static Start start(List<String> classPath) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(Arrays.asList(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                classPath.stream().collect(Collectors.joining(File.pathSeparator)),
                EmptyApplication.class.getName()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        Matcher result = RESULT.matcher(output);
        assertThat(result.find()).as(output).isTrue();
        return new Start(Long.parseLong(result.group(1)), Integer.parseInt(result.group(2)));
    }

    private static long median(List<Start> starts) {
        return quantile(starts, 0.5);
    }

    private static long quantile(List<Start> starts, double part) {
        long[] sorted = starts.stream().mapToLong(Start::millis).sorted().toArray();
        return sorted[(int) Math.round(part * (sorted.length - 1))];
    }
}
