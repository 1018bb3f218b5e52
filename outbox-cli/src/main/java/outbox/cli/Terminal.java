package outbox.cli;

import java.io.Console;
import java.util.Optional;

/** Where a person can be asked. */
@FunctionalInterface
interface Terminal {

    /** Asks, and waits for a line; empty if there is nobody to ask. */
    Optional<String> ask(String question);

    @SuppressWarnings("SystemConsoleNull") // asked below
    static Terminal system() {
        return question -> {
            Console console = System.console();
            if (console == null || !isTerminal(console)) {
                return Optional.empty();
            }
            return Optional.ofNullable(console.readLine("%s", question));
        };
    }

    /** From Java 22 on there is always a console, and it must be asked; before, there was none without a terminal. */
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
