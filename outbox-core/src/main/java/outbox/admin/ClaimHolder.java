package outbox.admin;

import org.jspecify.annotations.Nullable;

import java.time.Instant;

/**
 * Somebody who holds claims on unfinished events.
 *
 * @param node the owner as its tokens name it, and after a slash which run of it; null in a table that keeps no tokens
 * @param events how many events it holds, be the leases over or not
 * @param oldest when the first of these leases began or was last renewed
 * @param newest when the last of them began or was last renewed: a node that lives renews its claims
 */
public record ClaimHolder(@Nullable String node, long events, Instant oldest, Instant newest) {}
