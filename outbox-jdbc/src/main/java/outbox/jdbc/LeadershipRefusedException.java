package outbox.jdbc;

import outbox.OutboxException;

/**
 * A single leader is not possible over this connection. The message contains the reason and a remedy. A retry does
 * not help.
 */
public class LeadershipRefusedException extends OutboxException {

    private static final long serialVersionUID = 1L;

    public LeadershipRefusedException(String message) {
        super(message, null);
    }
}
