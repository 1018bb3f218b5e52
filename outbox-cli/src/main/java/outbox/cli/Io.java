package outbox.cli;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.util.Map;

/**
 * What the command has around it.
 *
 * @param out for the answer, be it a table or JSON
 * @param err for everything else: questions, progress, failures; without secrets, and printable
 * @param environment variables
 * @param terminal where a person can be asked
 * @param clock of this machine
 */
record Io(
        PrintWriter out,
        PrintWriter err,
        Map<String, String> environment,
        Terminal terminal,
        Clock clock,
        Secrets secrets) {

    Io {
        err = new MessageWriter(err, secrets);
    }

    static Io system() {
        return new Io(
                new PrintWriter(System.out, true, StandardCharsets.UTF_8),
                new PrintWriter(System.err, true, StandardCharsets.UTF_8),
                System.getenv(),
                Terminal.system(),
                Clock.systemUTC(),
                new Secrets());
    }
}
