package outbox.admin;

import org.jspecify.annotations.Nullable;

import java.time.Instant;

/**
 * A node that holds claims on unfinished events.
 *
 * @param node the name of the node as in its tokens, followed by a slash and the id of its run; null if the table
 * has no tokens
 * @param events the number of events that the node holds, including expired leases
 * @param oldest the earliest time at which one of these leases began or was last renewed
 * @param newest the latest time at which one of these leases began or was last renewed; a live node renews
 * its claims
 */
public record ClaimHolder(@Nullable String node, long events, Instant oldest, Instant newest) {}
