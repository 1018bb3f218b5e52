package outbox.cli;

import outbox.testing.metrics.AlertRules;
import outbox.testing.metrics.Scrape;

import java.util.LinkedHashMap;
import java.util.Map;

/** The samples of several processes over time, in the format of promtool. Used by one thread at a time. */
final class ScrapedSeries {

    private static final String STEADY = "+0x150";

    private final Map<Map<String, String>, StringBuilder> values = new LinkedHashMap<>();
    private final Map<Map<String, String>, Integer> counts = new LinkedHashMap<>();
    private final Map<Map<String, String>, Double> last = new LinkedHashMap<>();
    private int scrapes;

    /** Adds the samples of all processes at one time, by process name. */
    void add(Map<String, Scrape> processes) {
        last.clear();
        processes.forEach((instance, scrape) -> scrape.samples().forEach(sample -> {
            Map<String, String> labels = AlertRules.labels(sample, instance);
            StringBuilder text = values.computeIfAbsent(labels, any -> new StringBuilder());
            int missing = scrapes - counts.getOrDefault(labels, 0);
            text.append("_ ".repeat(missing))
                    .append(AlertRules.value(sample.value()))
                    .append(' ');
            counts.put(labels, scrapes + 1);
            last.put(labels, sample.value());
        }));
        scrapes++;
    }

    int scrapes() {
        return scrapes;
    }

    /** The values of all scrapes. */
    Map<Map<String, String>, String> all() {
        Map<Map<String, String>, String> series = new LinkedHashMap<>();
        values.forEach((labels, text) -> series.put(labels, text.toString().strip()));
        return series;
    }

    /** The values of the last scrape, repeated for 150 intervals. */
    Map<Map<String, String>, String> steady() {
        Map<Map<String, String>, String> series = new LinkedHashMap<>();
        last.forEach((labels, value) -> {
            if (!Double.isNaN(value)) {
                series.put(labels, AlertRules.value(value) + STEADY);
            }
        });
        return series;
    }
}
