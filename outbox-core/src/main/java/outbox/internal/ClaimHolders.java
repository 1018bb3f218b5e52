package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.admin.ClaimHolder;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Puts the claims of one node together: a token names its node by what comes before its last slash. */
public final class ClaimHolders {

    private final Map<String, ClaimHolder> byNode = new TreeMap<>();

    /** Adds the events of one token; null in a table that keeps none. */
    public void add(@Nullable String token, long events, Instant oldest, Instant newest) {
        if (events == 0) {
            return;
        }
        String node = token == null ? null : node(token);
        byNode.merge(
                node == null ? "" : node, new ClaimHolder(node, events, oldest, newest), ClaimHolders::together);
    }

    private static String node(String token) {
        int end = token.lastIndexOf('/');
        return end < 0 ? token : token.substring(0, end);
    }

    private static ClaimHolder together(ClaimHolder one, ClaimHolder other) {
        return new ClaimHolder(
                one.node(),
                one.events() + other.events(),
                one.oldest().isBefore(other.oldest()) ? one.oldest() : other.oldest(),
                one.newest().isAfter(other.newest()) ? one.newest() : other.newest());
    }

    /** Sorted by name. */
    public List<ClaimHolder> list() {
        return new ArrayList<>(byNode.values());
    }
}
