package outbox.cli;

/** The main class of the archive. */
public final class Main {

    private Main() {}

    public static void main(String[] args) {
        System.exit(run(Io.system(), args));
    }

    private static int run(Io io, String[] args) {
        String format = io.environment().getOrDefault(Setting.LOG_FORMAT.key(), "");
        try {
            Logging.toStandardError(
                    format.isBlank() ? Logging.Format.TEXT : Logging.Format.parse(format.strip()), io.secrets());
        } catch (IllegalArgumentException e) {
            io.warn(Setting.LOG_FORMAT.key() + ": " + e.getMessage());
            return ExitCode.USAGE;
        }
        return OutboxCommand.commandLine(io).execute(args);
    }
}
