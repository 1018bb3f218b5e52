package outbox.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Quotes the words of a command line for a shell. */
final class ShellWords {

    private ShellWords() {}

    static String quote(String word) {
        return word.matches("[A-Za-z0-9_./:=,@%+-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
    }

    /** The command that continues an unfinished request. A URL that must not be printed is omitted. */
    static String continuing(List<String> arguments, String requestId, Secrets secrets) {
        List<String> words = new ArrayList<>(List.of("outbox"));
        boolean hasHidden = false;
        for (int i = 0; i < arguments.size(); i++) {
            String argument = arguments.get(i);
            String value = i + 1 < arguments.size() ? arguments.get(i + 1) : "";
            boolean isHidden = argument.equals("--url") && !secrets.hide(value).equals(value);
            if (argument.equals("--request-id") || isHidden) {
                hasHidden |= isHidden;
                i++;
            } else if (!argument.startsWith("--request-id=") && !argument.equals("--continue")) {
                words.add(argument);
            }
        }
        words.addAll(List.of("--request-id", requestId, "--continue"));
        String command = words.stream().map(ShellWords::quote).collect(Collectors.joining(" "));
        return secrets.hide(command) + (hasHidden ? " # and --url as before" : "");
    }
}
