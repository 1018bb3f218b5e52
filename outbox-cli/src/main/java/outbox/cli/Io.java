package outbox.cli;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.util.Map;

/**
 * The environment of a command.
 *
 * @param out for the result, as a table or JSON
 * @param err for everything else: questions, progress, errors; hides secrets and prints only printable characters
 * @param environment the environment variables
 * @param terminal asks the user
 * @param clock the clock of this machine
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

    void print(String text) {
        out.println(text);
    }

    /** Prints the result of a command as JSON. */
    void print(Answer answer) {
        out.println(Json.pretty(answer.map()));
    }

    void warn(String text) {
        err.println(text);
    }

    /** Asks for confirmation. Returns false if there is no terminal. */
    boolean confirms(String question) {
        return terminal.ask(question + " Type yes to go on: ")
                .filter(answer -> answer.strip().equalsIgnoreCase("yes"))
                .isPresent();
    }
}
