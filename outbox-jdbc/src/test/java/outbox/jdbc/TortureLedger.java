package outbox.jdbc;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What one life of a node writes down about its runs, outside of the system under test: a file of its own, a line for each start and end, written before the node goes on. Times are
 * those of {@link System#nanoTime()}, which on Linux is one clock for all processes of a machine.
 */
final class TortureLedger {

    /** How a run ended. */
    enum End {
        OK,
        FAILED,
        /** Its process was killed meanwhile. */
        NONE
    }

    /** A run of an event, with the node's boot that ran it. */
    record Run(String eventId, String aggregate, int version, String boot, long start, long end, End outcome) {}

    /** The kind of fault that is none: the node was closed, and another boot followed. */
    static final String RESTART = "restart";

    /** A time at which a boot could not go on as it should. */
    record Fault(String kind, String boot, long from, long to) {}

    private final FileOutputStream file;
    private final AtomicLong runs = new AtomicLong();

    TortureLedger(Path path) throws IOException {
        file = new FileOutputStream(path.toFile(), true); // not a channel: that would be closed by an interrupt
    }

    /** Writes the start of a run; answers its number. */
    long start(String eventId, String aggregate, String version) {
        long run = runs.incrementAndGet();
        line("S %d %d %s %s %s".formatted(run, System.nanoTime(), eventId, aggregate, version));
        return run;
    }

    void end(long run, End outcome) {
        line("E %d %d %s".formatted(run, System.nanoTime(), outcome));
    }

    /** The node noticed that it had stood still, whoever caused it. */
    void stoodStill(long from, long to) {
        line("P %d %d".formatted(from, to));
    }

    private void line(String text) {
        try {
            file.write((text + "\n").getBytes(StandardCharsets.UTF_8)); // one call, so one piece
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What was written by the boot of this name. */
    static void read(Path path, String boot, List<Run> runs, List<Fault> faults) {
        Map<String, Run> open = new HashMap<>();
        for (String line : lines(path)) {
            String[] parts = line.split(" ", -1);
            switch (parts[0]) {
                case "S" ->
                    open.put(
                            parts[1],
                            new Run(
                                    parts[3],
                                    parts[4],
                                    Integer.parseInt(parts[5]),
                                    boot,
                                    Long.parseLong(parts[2]),
                                    Long.MAX_VALUE,
                                    End.NONE));
                case "E" -> {
                    Run run = Objects.requireNonNull(open.remove(parts[1]), line);
                    runs.add(new Run(
                            run.eventId,
                            run.aggregate,
                            run.version,
                            boot,
                            run.start,
                            Long.parseLong(parts[2]),
                            End.valueOf(parts[3])));
                }
                default -> faults.add(new Fault("pause", boot, Long.parseLong(parts[1]), Long.parseLong(parts[2])));
            }
        }
        runs.addAll(open.values());
    }

    private static List<String> lines(Path path) {
        try {
            String text = Files.readString(path);
            int end = text.lastIndexOf('\n'); // a kill may cut the last line
            return text.substring(0, Math.max(0, end)).lines().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
