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
 * The records of one boot of a node about its runs, kept outside the system under test. Each boot has its own file
 * with a line for each start and end, written before the node continues. Times are those of
 * {@link System#nanoTime()}, which on Linux is the same clock for all processes of a machine.
 */
final class TortureLedger {

    /** The end of a run. */
    enum End {
        OK,
        FAILED,
        /** The process was killed during the run. */
        NONE
    }

    /** A run of an event, with the boot of the node that ran it. */
    record Run(String eventId, String aggregate, int version, String boot, long start, long end, End outcome) {}

    /** A planned restart, which is not a real fault: the node was closed, and another boot followed. */
    static final String RESTART = "restart";

    /** A period in which a boot was disturbed. */
    record Fault(String kind, String boot, long from, long to) {}

    private final FileOutputStream file;
    private final AtomicLong runs = new AtomicLong();

    TortureLedger(Path path) throws IOException {
        // not a channel, because an interrupt would close it
        file = new FileOutputStream(path.toFile(), true);
    }

    /** Writes the start of a run and returns its number. */
    long start(String eventId, String aggregate, String version) {
        long run = runs.incrementAndGet();
        line("S %d %d %s %s %s".formatted(run, System.nanoTime(), eventId, aggregate, version));
        return run;
    }

    void end(long run, End outcome) {
        line("E %d %d %s".formatted(run, System.nanoTime(), outcome));
    }

    /** Records that the node was frozen, for whatever reason. */
    void stoodStill(long from, long to) {
        line("P %d %d".formatted(from, to));
    }

    private void line(String text) {
        try {
            // one call, so the line is written as a whole
            file.write((text + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Reads the records of the boot with this name. */
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
            int end = text.lastIndexOf('\n'); // a kill may have cut off the last line
            return text.substring(0, Math.max(0, end)).lines().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
