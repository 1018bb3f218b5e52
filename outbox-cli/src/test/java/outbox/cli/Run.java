package outbox.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Clock;
import java.util.Map;
import java.util.Optional;

/** The result of one run of the command in this JVM. */
record Run(int exitCode, String out, String err) {

    /** Runs without a terminal and with an empty environment. */
    static Run of(String... arguments) {
        return with(Map.of(), question -> Optional.empty(), Clock.systemUTC(), arguments);
    }

    /** Runs with a terminal on which the user types this answer. */
    static Run answering(String answer, String... arguments) {
        return with(Map.of(), question -> Optional.of(answer), Clock.systemUTC(), arguments);
    }

    static Run with(Map<String, String> environment, Terminal terminal, Clock clock, String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        Io io = new Io(
                new PrintWriter(out, true), new PrintWriter(err, true), environment, terminal, clock, new Secrets());
        int exitCode = OutboxCommand.commandLine(io).execute(arguments);
        return new Run(exitCode, out.toString(), err.toString());
    }
}
