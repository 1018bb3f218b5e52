package outbox.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** The words of a command line, as a shell takes them. */
final class ShellWords {

    private ShellWords() {}

    static String quote(String word) {
        return word.matches("[A-Za-z0-9_./:=,@%+-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
    }

    /** The command that goes on with a request that was not finished. */
    static String continuing(List<String> arguments, String requestId) {
        List<String> words = new ArrayList<>(List.of("outbox"));
        boolean isValue = false;
        for (String argument : arguments) {
            boolean isId = argument.equals("--request-id") || argument.startsWith("--request-id=");
            if (!isValue && !isId && !argument.equals("--continue")) {
                words.add(argument);
            }
            isValue = argument.equals("--request-id");
        }
        words.addAll(List.of("--request-id", requestId, "--continue"));
        return words.stream().map(ShellWords::quote).collect(Collectors.joining(" "));
    }
}
