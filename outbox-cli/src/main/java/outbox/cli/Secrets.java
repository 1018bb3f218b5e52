package outbox.cli;

import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.regex.Pattern;

/** Texts that must never be shown. Whatever the command prints about a failure goes through here: messages of drivers may quote URLs. Thread-safe. */
final class Secrets {

    private static final String HIDDEN = "***";

    private final Set<String> texts = new CopyOnWriteArraySet<>();

    void add(String text) {
        if (!text.isEmpty()) {
            texts.add(text);
        }
    }

    /** For one that is no longer used. */
    void remove(String text) {
        texts.remove(text);
    }

    String hide(String message) {
        String hidden = message;
        for (String text : texts) {
            hidden = hidden.replaceAll("(?i)" + Pattern.quote(text), HIDDEN); // H2 shows URLs in capitals
        }
        return hidden.replaceAll("(?i)(password=)[^&;\\s]+", "$1" + HIDDEN)
                .replaceAll("(//[^/:@\\s]*:)[^/@\\s]+@", "$1" + HIDDEN + "@");
    }
}
