package outbox.jdbc;

import outbox.jdbc.TortureLedger.End;
import outbox.jdbc.TortureLedger.Fault;
import outbox.jdbc.TortureLedger.Run;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Compares the records of the nodes with the business table. A run is a duplicate if the event had succeeded before
 * the run started. A duplicate is explained by a fault of a node that ran the event, if the fault happened between
 * shortly before that run and the time when its outcome should have been written.
 */
final class TortureCheck {

    // a run may start with information from before a pause
    private static final long BEFORE = Duration.ofSeconds(1).toNanos();
    private static final long AFTER = Duration.ofSeconds(2).toNanos(); // by then the outcome is written

    private final List<Run> runs;
    private final Map<String, List<Fault>> faults; // by boot
    private final Map<String, TreeMap<Integer, List<Run>>> byVersion = new HashMap<>(); // by aggregate
    private final List<String> violations = new ArrayList<>();
    private int explained;
    private int unexplained;

    TortureCheck(List<Run> runs, List<Fault> faults) {
        this.runs = runs.stream().sorted(Comparator.comparingLong(Run::start)).toList();
        this.faults = faults.stream().collect(Collectors.groupingBy(Fault::boot));
        for (Run run : this.runs) {
            byVersion
                    .computeIfAbsent(run.aggregate(), none -> new TreeMap<>())
                    .computeIfAbsent(run.version(), none -> new ArrayList<>())
                    .add(run);
        }
    }

    /** Returns the violations. {@code versions} has the last committed version of each aggregate. */
    List<String> violations(Map<String, Integer> versions) {
        versions.forEach(this::checkAggregate);
        byVersion.keySet().stream()
                .filter(aggregate -> !versions.containsKey(aggregate))
                .forEach(aggregate -> violations.add("unknown aggregate " + aggregate));
        return violations;
    }

    private void checkAggregate(String aggregate, int last) {
        TreeMap<Integer, List<Run>> delivered = byVersion.getOrDefault(aggregate, new TreeMap<>());
        if (!delivered.isEmpty() && delivered.lastKey() > last) {
            violations.add("phantom: version " + delivered.lastKey() + " of " + aggregate + " was never committed");
        }
        long previousEnd = Long.MIN_VALUE;
        List<Run> previous = List.of();
        for (int version = 1; version <= last; version++) {
            List<Run> all = delivered.getOrDefault(version, List.of());
            if (all.stream().map(Run::eventId).distinct().count() > 1) {
                violations.add("phantom: two events have version " + version + " of " + aggregate + timeline(all));
            }
            long firstEnd = all.stream()
                    .filter(run -> run.outcome() == End.OK)
                    .mapToLong(Run::end)
                    .min()
                    .orElse(Long.MAX_VALUE);
            if (firstEnd == Long.MAX_VALUE) {
                violations.add("lost: version " + version + " of " + aggregate + timeline(all));
            }
            if (!all.isEmpty() && all.get(0).start() < previousEnd) {
                violations.add("order: version " + version + " of " + aggregate + " started before the one before it"
                        + timeline(previous) + " then" + timeline(all));
            }
            checkTerminal(previous, all);
            countDuplicates(all, firstEnd);
            previousEnd = firstEnd;
            previous = all;
        }
    }

    /**
     * Once an event has started, the event before it is terminal. Only a node that was frozen at that moment may
     * start the earlier event again, because its information is old.
     */
    private void checkTerminal(List<Run> before, List<Run> all) {
        if (all.isEmpty()) {
            return;
        }
        long terminal = all.get(0).start();
        before.stream()
                .filter(run -> run.start() > terminal && !stoodStill(run))
                .forEach(run -> violations.add("terminal: version " + run.version() + " of " + run.aggregate()
                        + " started again after the next one" + timeline(before) + " then" + timeline(all)));
    }

    private boolean stoodStill(Run run) {
        return faults.getOrDefault(run.boot(), List.of()).stream()
                .anyMatch(fault -> fault.from() <= run.start()
                        && fault.to() >= run.start() - BEFORE
                        && fault.to() < Long.MAX_VALUE
                        && !fault.kind().equals(TortureLedger.RESTART));
    }

    private void countDuplicates(List<Run> all, long firstEnd) {
        boolean excused = all.stream().anyMatch(this::isDisturbed);
        for (Run run : all) {
            if (run.start() > firstEnd) {
                if (excused) {
                    explained++;
                } else {
                    unexplained++;
                    violations.add("duplicate without a cause:" + timeline(all));
                }
            }
        }
    }

    private boolean isDisturbed(Run run) {
        long until = run.end() == Long.MAX_VALUE ? Long.MAX_VALUE : run.end() + AFTER;
        return faults.getOrDefault(run.boot(), List.of()).stream()
                .filter(fault -> !fault.kind().equals(TortureLedger.RESTART)) // a close waits for running events
                .anyMatch(fault -> fault.from() <= until && fault.to() >= run.start() - BEFORE);
    }

    private String timeline(List<Run> all) {
        long zero = runs.get(0).start();
        return all.stream()
                .map(run -> "%n    %s on %s: %,d to %,d us, %s; faults there: %s"
                        .formatted(
                                run.eventId(),
                                run.boot(),
                                (run.start() - zero) / 1000,
                                run.outcome() == End.NONE ? -1 : (run.end() - zero) / 1000,
                                run.outcome(),
                                faults.getOrDefault(run.boot(), List.of()).stream()
                                        .map(fault -> "%s %,d to %,d"
                                                .formatted(
                                                        fault.kind(),
                                                        (fault.from() - zero) / 1000,
                                                        (fault.to() - zero) / 1000))
                                        .toList()))
                .collect(Collectors.joining());
    }

    String figures() {
        Map<End, Long> ends = runs.stream().collect(Collectors.groupingBy(Run::outcome, Collectors.counting()));
        Map<String, Long> kinds = faults.values().stream()
                .flatMap(List::stream)
                .collect(Collectors.groupingBy(Fault::kind, TreeMap::new, Collectors.counting()));
        return "%d events, %d runs %s, duplicates: %d explained, %d unexplained; faults %s"
                .formatted(
                        byVersion.values().stream().mapToInt(Map::size).sum(),
                        runs.size(),
                        new TreeMap<>(ends),
                        explained,
                        unexplained,
                        kinds);
    }
}
