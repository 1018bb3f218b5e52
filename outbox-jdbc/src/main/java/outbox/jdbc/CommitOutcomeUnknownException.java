package outbox.jdbc;

import outbox.OutboxException;

/**
 * The connection broke during COMMIT, so the client cannot know whether the transaction was committed. Neither
 * after-commit nor after-rollback callbacks run. If it was committed, its events are in the table and a poller
 * delivers them. Check the business rows before you repeat the change.
 */
public final class CommitOutcomeUnknownException extends OutboxException {

    private static final long serialVersionUID = 1L;

    CommitOutcomeUnknownException(Throwable cause) {
        super(
                "The connection broke during COMMIT: the transaction may or may not have taken effect. Look at "
                        + "the business rows before repeating it.",
                cause);
    }
}
