package outbox.admin;

/**
 * What a request did, or what a dry run would do.
 *
 * @param dryRun whether nothing was changed because the request was not confirmed
 * @param matched the number of events that the request selected; higher than {@code affected} if the cap, a failure
 * or another operator excluded some
 * @param affected the number of events that were changed, or that would be changed
 * @param complete whether all selected events were processed; false if the request failed midway or is still
 * running elsewhere
 * @param repeated whether an earlier request with this id made the changes and this one changed nothing
 */
public record AdminResult(
        String requestId,
        AdminAction action,
        boolean dryRun,
        long matched,
        long affected,
        boolean complete,
        boolean repeated) {

    /** Creates the result of a request from its audit record. */
    public static AdminResult of(AuditEntry entry, boolean repeated) {
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
