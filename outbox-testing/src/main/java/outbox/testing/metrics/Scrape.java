package outbox.testing.metrics;

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

/** The samples that a process exposes to Prometheus in the text format. Immutable. */
public final class Scrape {

    private static final Pattern SAMPLE = Pattern.compile("^([a-z_]+)(?:\\{(.*)})? (\\S+)$");
    private static final Pattern LABEL = Pattern.compile("([a-z_]+)=\"((?:[^\"\\\\]|\\\\.)*)\"");

    /** One sample. The label values are still escaped. */
    public record Sample(String name, Map<String, String> labels, double value) {}

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

    /**
     * Parses the response of a Prometheus endpoint.
     *
     * @throws AssertionError if a line is neither a sample nor a comment
     */
    public static Scrape of(String text) {
        return new Scrape(text);
    }

    private static Map<String, String> labels(@Nullable String text) {
        Map<String, String> labels = new HashMap<>();
        if (text != null) {
            LABEL.matcher(text).results().forEach(label -> labels.put(label.group(1), label.group(2)));
        }
        return labels;
    }

    /** Returns all samples, in the order of their lines. */
    public List<Sample> samples() {
        return List.copyOf(samples);
    }

    /** Returns the distinct names of the samples. */
    public Set<String> names() {
        return samples.stream().map(Sample::name).collect(Collectors.toCollection(TreeSet::new));
    }

    /**
     * Returns the label names that all samples with this name have.
     *
     * @throws AssertionError if there is no such sample, or if their labels differ
     */
    public Set<String> labelsOf(String name) {
        Set<Set<String>> all = samples.stream()
                .filter(sample -> sample.name().equals(name))
                .map(sample -> (Set<String>) new TreeSet<>(sample.labels().keySet()))
                .collect(Collectors.toSet());
        if (all.size() != 1) {
            throw new AssertionError(name + " has the labels " + all + " in\n" + text);
        }
        return all.iterator().next();
    }

    /** Returns all values of a label, over all samples. */
    public Set<String> values(String label) {
        return samples.stream()
                .map(sample -> sample.labels().get(label))
                .filter(value -> value != null)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /**
     * Returns the declared type of a metric.
     *
     * @throws AssertionError if no type is declared
     */
    public String typeOf(String name) {
        Matcher type = Pattern.compile("^# TYPE " + name + " (\\w+)$", Pattern.MULTILINE)
                .matcher(text);
        if (!type.find()) {
            throw new AssertionError(name + " has no type in\n" + text);
        }
        return type.group(1);
    }

    /**
     * Returns the value of the only sample with this name and these labels. It may have further labels.
     *
     * @param labels names and values, alternating
     * @throws AssertionError if there is none, or more than one
     */
    public double value(String name, String... labels) {
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
