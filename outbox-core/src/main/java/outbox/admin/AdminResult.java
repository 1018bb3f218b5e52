package outbox.admin;

/**
 * What a request did, or would do.
 *
 * @param dryRun whether it only looked
 * @param matched how many events it meant when it looked; more than {@code affected} if the cap, a failure or another operator left some
 * @param affected how many events it changed, or would change
 * @param complete whether it worked through all it may change; false if it failed midway, or is still at work elsewhere
 * @param repeated whether an earlier request with this id did it, and this one changed nothing
 */
public record AdminResult(
        String requestId,
        AdminAction action,
        boolean dryRun,
        long matched,
        long affected,
        boolean complete,
        boolean repeated) {

    static AdminResult of(AuditEntry entry, boolean repeated) {
        return new AdminResult(
                entry.requestId(),
                entry.action(),
                false,
                entry.matched(),
                entry.affected(),
                entry.finishedAt() != null,
                repeated);
    }
}
