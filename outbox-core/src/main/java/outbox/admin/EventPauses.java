package outbox.admin;

import outbox.Experimental;

import java.sql.Connection;
import java.util.List;

/**
 * The capability of a store that keeps pauses for all nodes in a side table, which may be missing. {@link #hasPauses}
 * returns whether the table exists. If it is missing, the other methods throw an {@link outbox.OutboxException} that
 * names what to create.
 */
@Experimental
public interface EventPauses {

    /** Whether the table for pauses exists. Does not fail if it is missing. */
    boolean hasPauses(Connection conn);

    /** Returns the active pauses. */
    List<Pause> pauses(Connection conn);

    /** Writes a pause. Returns false if it exists already; the transaction can continue in that case. */
    boolean pause(Connection conn, Pause pause);

    /** Ends a pause. Returns false if there was none. */
    boolean resume(Connection conn, Pause.Scope scope, String name);
}
