package outbox.micrometer;

import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What Prometheus reads. */
final class Scrape {

    private static final Pattern SAMPLE = Pattern.compile("^([a-z_]+)(?:\\{(.*)})? (\\S+)$");
    private static final Pattern LABEL = Pattern.compile("([a-z_]+)=\"((?:[^\"\\\\]|\\\\.)*)\"");

    /** One line. */
    record Sample(String name, Map<String, String> labels, double value) {}

    private final String text;
    private final List<Sample> samples = new ArrayList<>();

    private Scrape(String text) {
        this.text = text;
        for (String line : text.lines().filter(each -> !each.isBlank()).toList()) {
            Matcher sample = SAMPLE.matcher(line);
            if (sample.matches()) {
                samples.add(new Sample(sample.group(1), labels(sample.group(2)), Double.parseDouble(sample.group(3))));
            } else if (!line.startsWith("#")) {
                throw new AssertionError("not a sample: " + line);
            }
        }
    }

    static Scrape of(PrometheusMeterRegistry registry) {
        return new Scrape(registry.scrape());
    }

    private static Map<String, String> labels(@Nullable String text) {
        Map<String, String> labels = new HashMap<>();
        if (text != null) {
            LABEL.matcher(text).results().forEach(label -> labels.put(label.group(1), label.group(2)));
        }
        return labels;
    }

    List<Sample> samples() {
        return List.copyOf(samples);
    }

    Set<String> names() {
        return samples.stream().map(Sample::name).collect(Collectors.toCollection(TreeSet::new));
    }

    /** The labels that the samples of a name have, all of them the same. */
    Set<String> labelsOf(String name) {
        Set<Set<String>> all = samples.stream()
                .filter(sample -> sample.name().equals(name))
                .map(sample -> (Set<String>) new TreeSet<>(sample.labels().keySet()))
                .collect(Collectors.toSet());
        if (all.size() != 1) {
            throw new AssertionError(name + " has the labels " + all + " in\n" + text);
        }
        return all.iterator().next();
    }

    Set<String> values(String label) {
        return samples.stream()
                .map(sample -> sample.labels().get(label))
                .filter(value -> value != null)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** The type that Prometheus is told about a name. */
    String typeOf(String name) {
        Matcher type = Pattern.compile("^# TYPE " + name + " (\\w+)$", Pattern.MULTILINE)
                .matcher(text);
        if (!type.find()) {
            throw new AssertionError(name + " has no type in\n" + text);
        }
        return type.group(1);
    }

    /** The only sample of that name with these labels among others. */
    double value(String name, String... labels) {
        List<Sample> found = samples.stream()
                .filter(sample -> sample.name().equals(name))
                .filter(sample -> has(sample, labels))
                .toList();
        if (found.size() != 1) {
            throw new AssertionError(found.size() + " samples of " + name + " " + List.of(labels) + " in\n" + text);
        }
        return found.get(0).value();
    }

    private static boolean has(Sample sample, String... labels) {
        for (int i = 0; i < labels.length; i += 2) {
            if (!labels[i + 1].equals(sample.labels().get(labels[i]))) {
                return false;
            }
        }
        return true;
    }

    @Override
    public String toString() {
        return text;
    }
}
