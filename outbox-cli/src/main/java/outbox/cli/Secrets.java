package outbox.cli;

import java.util.Comparator;
import java.util.List;
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

    /** The passwords in a URL, and the URL as a whole if it has parameters: drivers know more of them than we do. */
    void addUrl(String url) {
        UrlPasswords.values(url).forEach(this::add);
        if (url.matches(".*[?;&(@].*")) {
            add(url);
        }
    }

    String hide(String message) {
        String hidden = message;
        for (String text : longestFirst()) {
            hidden = hidden.replaceAll("(?i)" + Pattern.quote(text), HIDDEN); // H2 shows URLs in capitals
        }
        return hidden.replaceAll("(?i)(password\\d*\\s*=\\s*)[^&;,)\\s\"']+", "$1" + HIDDEN)
                .replaceAll("(//[^/:@\\s]*:)[^/@\\s\"']+@", "$1" + HIDDEN + "@");
    }

    /** One may contain another. */
    private List<String> longestFirst() {
        return texts.stream()
                .sorted(Comparator.comparingInt(String::length).reversed())
                .toList();
    }
}
