package outbox.cli;

import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.regex.Pattern;

/**
 * Texts that must never be printed. All messages about failures pass through here, because messages of drivers may
 * quote URLs. Thread-safe.
 */
final class Secrets {

    private static final String HIDDEN = "***";

    private final Set<String> texts = new CopyOnWriteArraySet<>();

    void add(String text) {
        if (!text.isEmpty()) {
            texts.add(text);
        }
    }

    /** Removes a secret that is no longer used. */
    void remove(String text) {
        texts.remove(text);
    }

    /**
     * Adds the passwords in a URL, and the whole URL if it has parameters: drivers accept secrets that we do not
     * know.
     */
    void addUrl(String url) {
        UrlPasswords.values(url).forEach(this::add);
        if (url.matches(".*[?;&(@].*")) {
            add(url);
        }
    }

    String hide(String message) {
        String hidden = message;
        for (String text : longestFirst()) {
            // ignore case: H2 prints URLs in capitals
            hidden = hidden.replaceAll("(?i)" + Pattern.quote(text), HIDDEN);
        }
        return hidden.replaceAll("(?i)(password\\d*\\s*=\\s*)[^&;,)\\s\"']+", "$1" + HIDDEN)
                .replaceAll("(//[^/:@\\s]*:)[^/@\\s\"']+@", "$1" + HIDDEN + "@");
    }

    /** One secret may contain another, so the longest is replaced first. */
    private List<String> longestFirst() {
        return texts.stream()
                .sorted(Comparator.comparingInt(String::length).reversed())
                .toList();
    }
}
