package outbox.cli;

import java.io.Console;
import java.util.Optional;

/** Asks the user a question. */
@FunctionalInterface
interface Terminal {

    /** Asks and waits for a line. Returns empty if there is no terminal. */
    Optional<String> ask(String question);

    @SuppressWarnings("SystemConsoleNull") // isTerminal is checked below
    static Terminal system() {
        return question -> {
            Console console = System.console();
            if (console == null || !isTerminal(console)) {
                return Optional.empty();
            }
            return Optional.ofNullable(console.readLine("%s", question));
        };
    }

    /**
     * From Java 22 on there is always a console, and isTerminal() must be called. Before, there was no console
     * without a terminal.
     */
    private static boolean isTerminal(Console console) {
        try {
            return (boolean) Console.class.getMethod("isTerminal").invoke(console);
        } catch (NoSuchMethodException e) {
            return true;
        } catch (ReflectiveOperationException e) {
            return false;
        }
    }
}
