package outbox.cli;

/** The exit codes of the command. They are documented in docs/reference/cli.md. */
final class ExitCode {

    /** The command succeeded, or found no problem. */
    static final int OK = 0;

    /** The command found problems, or did not find the requested object. */
    static final int PROBLEM = 1;

    /** Arguments or settings are wrong; nothing was done. */
    static final int USAGE = 2;

    /** The change was not confirmed; nothing was changed. */
    static final int NOT_CONFIRMED = 3;

    /** The database or broker was unreachable or failed, or writing to standard output failed. */
    static final int FAILED = 4;

    private ExitCode() {}
}
