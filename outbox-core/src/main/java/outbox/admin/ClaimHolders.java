package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventAdministration.ClaimHolder;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Combines the claims of one node. The part of a token before its last slash names the node. */
final class ClaimHolders {

    private ClaimHolders() {}

    /** Returns one holder per node, sorted by name. */
    static List<ClaimHolder> byNode(List<ClaimHolder> byToken) {
        Map<String, ClaimHolder> nodes = new TreeMap<>();
        for (ClaimHolder holder : byToken) {
            String node = node(holder.node());
            ClaimHolder named = new ClaimHolder(node, holder.events(), holder.oldest(), holder.newest());
            nodes.merge(node == null ? "" : node, named, ClaimHolders::together);
        }
        return List.copyOf(nodes.values());
    }

    private static @Nullable String node(@Nullable String token) {
        int end = token == null ? -1 : token.lastIndexOf('/');
        return token == null || end < 0 ? token : token.substring(0, end);
    }

    private static ClaimHolder together(ClaimHolder one, ClaimHolder other) {
        return new ClaimHolder(
                one.node(),
                one.events() + other.events(),
                one.oldest().isBefore(other.oldest()) ? one.oldest() : other.oldest(),
                one.newest().isAfter(other.newest()) ? one.newest() : other.newest());
    }
}
