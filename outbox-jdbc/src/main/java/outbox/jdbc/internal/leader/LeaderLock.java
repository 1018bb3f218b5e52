package outbox.jdbc.internal.leader;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

/**
 * The lock of a database that determines the leader of a table. There is one object per connection, and every
 * statement on the connection is a separate transaction.
 */
interface LeaderLock {

    /**
     * The reply of the database.
     *
     * @param session the session that replied
     * @param held whether that session has the lock
     */
    record Seen(long session, boolean held) {}

    /** Queries the current session and whether it has the lock. */
    Seen look(Connection connection) throws SQLException;

    /** Like {@link #look}, but may assume that a living session still has its lock. */
    Seen beat(Connection connection) throws SQLException;

    /**
     * Takes the lock if it is free. Must not be called by a session that has the lock, because such locks count how
     * often they were taken.
     */
    Seen tryTake(Connection connection) throws SQLException;

    /** Releases the lock. Returns false if the current session does not have it. */
    boolean release(Connection connection) throws SQLException;

    /**
     * Makes the database end the session or the lease after this time without a statement, so that a frozen or
     * disconnected leader does not keep the lock.
     */
    void limitSilence(Connection connection, Duration term) throws SQLException;

    void unlimitSilence(Connection connection) throws SQLException;

    /** Whether the lock belongs to the session and lasts as long as the session. Otherwise it expires. */
    boolean isOfSession();
}
