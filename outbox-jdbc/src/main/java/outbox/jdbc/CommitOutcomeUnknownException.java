package outbox.jdbc;

import outbox.OutboxException;

/**
 * The connection broke during COMMIT, so nobody on this side knows whether the transaction took effect. Neither after-commit nor after-rollback callbacks run. If it did commit,
 * its events are in the table and a poller delivers them; look at the business rows before repeating the change.
 */
public final class CommitOutcomeUnknownException extends OutboxException {

    private static final long serialVersionUID = 1L;

    CommitOutcomeUnknownException(Throwable cause) {
        super(
                "The connection broke during COMMIT: the transaction may or may not have taken effect. Look at the business rows before repeating it.",
                cause);
    }
}
