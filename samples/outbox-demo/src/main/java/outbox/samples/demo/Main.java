package outbox.samples.demo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

/** Starts the demo from the command line. */
public final class Main {

    private static final int BALANCED = 0;
    private static final int NOT_BALANCED = 1;
    private static final int WRONG_ARGUMENTS = 2;

    private Main() {}

    public static void main(String[] args) throws Exception {
        Options options;
        try {
            options = Options.parse(args);
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage());
            System.exit(WRONG_ARGUMENTS);
            return;
        }
        if (options.help()) {
            System.out.println(Options.USAGE);
        } else {
            System.exit(run(options));
        }
    }

    /** Ctrl-C only requests a stop. The process waits for the summary and exits with its exit code. */
    private static int run(Options options) throws Exception {
        CountDownLatch stop = new CountDownLatch(1);
        CompletableFuture<Integer> exitCode = new CompletableFuture<>();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stop.countDown();
            Runtime.getRuntime().halt(exitCode.join());
        }));
        try {
            exitCode.complete(run(options, stop));
        } finally {
            exitCode.complete(NOT_BALANCED); // no effect if already complete; otherwise an exception was thrown
        }
        return exitCode.join();
    }

    private static int run(Options options, CountDownLatch stop)
            throws IOException, SQLException, InterruptedException {
        Path directory = Files.createTempDirectory("outbox-demo-");
        try (LogFile log = new LogFile(directory.resolve("outbox-demo.log"))) {
            Demo demo = new Demo(directory, new Screen(System.out, Screen.isTerminal()), stop);
            if (!demo.run(options.duration())) {
                System.out.println("The database is kept beside the log, " + log.path());
                return NOT_BALANCED;
            }
        }
        delete(directory);
        return BALANCED;
    }

    private static void delete(Path directory) throws IOException {
        try (var files = Files.list(directory)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(directory);
    }
}
