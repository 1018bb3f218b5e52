package outbox.jdbc;

import outbox.OutboxException;

/** There can be no single leader over this connection; the message says why, and what to do. Trying again does not help. */
public class LeadershipRefusedException extends OutboxException {

    private static final long serialVersionUID = 1L;

    public LeadershipRefusedException(String message) {
        super(message, null);
    }
}
