package outbox.cli;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Spec;

import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Level;

/** Runs the relay as its own process until SIGTERM or SIGINT. */
@Command(
        name = "relay",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Delivers the events of tables until it is told to stop by SIGTERM or SIGINT, and then ends with 0.",
            "Everything can be set by a flag, by the environment, or in the file of --config."
        })
final class RelayCommand implements Callable<Integer> {

    /** How long to wait after the drain time before the process counts as stuck. */
    private static final Duration GRACE = Duration.ofSeconds(10);

    /** Settings whose flags are in {@link DatabaseOptions}. */
    private static final List<Setting> OF_THE_DATABASE = List.of(
            Setting.JDBC_URL,
            Setting.JDBC_USER,
            Setting.JDBC_PASSWORD,
            Setting.JDBC_PASSWORD_FILE,
            Setting.JDBC_TIMEOUT,
            Setting.ALLOW_HOST,
            Setting.RELAY_MAX_ATTEMPTS);

    private final Io io;

    @Mixin
    private DatabaseOptions database = new DatabaseOptions();

    @Spec
    private CommandSpec spec = CommandSpec.create(); // replaced by picocli

    private RelayCommand(Io io) {
        this.io = io;
    }

    /** The command line with one flag for each setting that has a flag. */
    static CommandLine commandLine(Io io) {
        CommandLine line = new CommandLine(new RelayCommand(io));
        for (Setting setting : Setting.values()) {
            if (!OF_THE_DATABASE.contains(setting) && setting.flag().isPresent()) {
                line.getCommandSpec()
                        .addOption(OptionSpec.builder(setting.flag().get())
                                .type(String.class)
                                .paramLabel(setting.label())
                                .description(setting.meaning() + "; or " + setting.key()
                                        + setting.standard()
                                                .map(text -> "; default " + text)
                                                .orElse(""))
                                .build());
            }
        }
        return line;
    }

    @Override
    public Integer call() throws Exception {
        Settings given = database.settings(io, flags());
        Logging.Format format = given.read(Setting.LOG_FORMAT, Logging.Format::parse);
        RelaySettings settings = RelaySettings.of(given, io.secrets());
        if (format != null && format != Logging.format()) { // Main read only the environment, not flags and the file
            Logging.toStandardError(format, io.secrets());
        }
        CountDownLatch stop = new CountDownLatch(1);
        AtomicReference<@Nullable String> broken = new AtomicReference<>(); // why the relay ends by itself
        CompletableFuture<Integer> exitCode = new CompletableFuture<>();
        // also set by a stop signal that comes before the start has finished
        AtomicBoolean isStarted = new AtomicBoolean();
        Thread hook = new Thread(
                () -> {
                    if (isStarted.compareAndSet(false, true)) {
                        System.err.println("Relay: told to stop before it had started");
                        Runtime.getRuntime().halt(ExitCode.OK); // the start may hang; nothing was delivered yet
                    }
                    end(stop, exitCode, settings.delivery().drainTime());
                },
                "outbox-relay-stop");
        Runtime.getRuntime().addShutdownHook(hook);
        try (RelayProcess process = RelayProcess.start(settings, why -> {
            broken.set(why);
            stop.countDown();
        })) {
            isStarted.set(true);
            Logging.say(io, Level.INFO, "Relay: " + process);
            stop.await();
            String why = broken.get();
            Logging.say(
                    io,
                    Level.INFO,
                    "Relay: " + (why == null ? "told to stop" : why + "; it ends, and no attempt counts"));
        } catch (Throwable e) {
            withdraw(hook, exitCode);
            throw e;
        }
        Logging.say(io, Level.INFO, "Relay: stopped");
        int code = broken.get() == null ? ExitCode.OK : ExitCode.FAILED;
        exitCode.complete(code);
        return code;
    }

    private Map<Setting, String> flags() {
        Map<Setting, String> flags = new EnumMap<>(Setting.class);
        for (Setting setting : Setting.values()) {
            if (!OF_THE_DATABASE.contains(setting)) {
                setting.flag()
                        .map(flag -> spec.commandLine().getParseResult().<String>matchedOptionValue(flag, null))
                        .ifPresent(value -> flags.put(setting, value));
            }
        }
        return flags;
    }

    /**
     * Runs on the shutdown hook. Waits for the clean end and makes its exit code the one of the process; otherwise
     * the process would end with the code of the signal.
     */
    private void end(CountDownLatch stop, CompletableFuture<Integer> exitCode, Duration drainTime) {
        stop.countDown();
        int code = ExitCode.FAILED;
        try {
            code = exitCode.get(drainTime.plus(GRACE).toMillis(), TimeUnit.MILLISECONDS);
        } catch (Exception e) {
            Logging.say(io, Level.SEVERE, "Relay: did not end within its drain time, " + drainTime + " (" + e + ")");
        }
        Runtime.getRuntime().halt(code);
    }

    /**
     * Removes the shutdown hook after a failed start. If a signal came first, the hook already runs and waits for the
     * exit code.
     */
    private static void withdraw(Thread hook, CompletableFuture<Integer> exitCode) {
        exitCode.complete(ExitCode.FAILED);
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The hook already runs.
        }
    }
}
