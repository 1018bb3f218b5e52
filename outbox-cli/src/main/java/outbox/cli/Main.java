package outbox.cli;

/** Where the archive starts. */
public final class Main {

    private Main() {}

    public static void main(String[] args) {
        Logging.toStandardError();
        int code = OutboxCommand.commandLine(Io.system()).execute(args);
        System.exit(code);
    }
}
