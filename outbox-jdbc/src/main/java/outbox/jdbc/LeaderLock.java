package outbox.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

/** How a database knows who leads a table. One object per connection, on which every statement is a transaction of its own. */
interface LeaderLock {

    /** What the database answered. */
    record Seen(long session, boolean held) {}

    /** Which session answers, and whether it has the lock. */
    Seen look(Connection connection) throws SQLException;

    /** Like {@link #look}, but may take it for granted that a session keeps its lock. */
    Seen beat(Connection connection) throws SQLException;

    /** Takes the lock if nobody has it. Not called by a session that has it: such locks count how often they were taken. */
    Seen tryTake(Connection connection) throws SQLException;

    /** Frees the lock; false if the session that answers does not have it. */
    boolean release(Connection connection) throws SQLException;

    /** From now on the database ends the session, or the lease, after this time without a word: a leader that is frozen, or cut off, must not keep the lock. */
    void limitSilence(Connection connection, Duration term) throws SQLException;

    void unlimitSilence(Connection connection) throws SQLException;

    /** Whether the lock belongs to the session, which then cannot lose it as long as it lives. Otherwise it ends with its time. */
    boolean isOfSession();
}
