package outbox.cli;

/** What the exit codes of the command mean; docs/cli.md tells the same. */
final class ExitCode {

    /** Done, or nothing wrong was found. */
    static final int OK = 0;

    /** Problems were found, or what was asked for is not there. */
    static final int PROBLEM = 1;

    /** Arguments or settings are wrong; nothing was done. */
    static final int USAGE = 2;

    /** The change was not confirmed; nothing was changed. */
    static final int NOT_CONFIRMED = 3;

    /** The database or broker could not be reached, or it or standard output failed on the way. */
    static final int FAILED = 4;

    private ExitCode() {}
}
