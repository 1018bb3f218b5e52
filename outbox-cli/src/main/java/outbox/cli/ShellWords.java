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

    /** The command that goes on with a request that was not finished. A URL that must not be shown is left out. */
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
