package outbox.jdbc;

import outbox.jdbc.internal.claim.ClaimTerms;
import outbox.jdbc.internal.claim.Due;
import outbox.jdbc.internal.claim.WithheldSql;
import outbox.jdbc.internal.row.Candidate;
import outbox.jdbc.internal.row.ContentSql.Reading;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.order.Ordering;
import outbox.spi.ClaimedEvent;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** The claim of the standard table on PostgreSQL, in one statement. */
final class PostgresClaims extends ClaimStatements {

    // Whether the last claim was full; the next one then starts with the priorities. Any claiming thread reads and
    // writes it.
    private volatile boolean backlog;

    PostgresClaims(AbstractJdbcEventStore store) {
        super(store);
    }

    @Override
    public List<ClaimedEvent> claim(Connection conn, ClaimTerms terms) throws SQLException {
        TableColumns shape = shape(conn, terms.ordering());
        int limit = terms.limit();
        List<Candidate> taken = new ArrayList<>();
        if (shape.has("priority")) {
            int byPriority = priorities.of(limit);
            int byAge = limit - byPriority;
            if (byAge > 0 && !backlog) {
                taken.addAll(take(conn, shape, false, terms, byAge));
                if (taken.size() < byAge) { // these are all due events of any priority
                    return Candidate.claimed(taken, terms.claim());
                }
            }
            if (byPriority > 0) {
                taken.addAll(take(conn, shape, true, terms, byPriority));
            }
        }
        if (taken.size() < limit) {
            taken.addAll(take(conn, shape, false, terms, limit - taken.size()));
        }
        backlog = taken.size() == limit;
        return Candidate.claimed(taken, terms.claim());
    }

    /**
     * Takes events. Binds: those of IS_FREE, those of the withheld condition, those of the order, limit, token, now,
     * lock expiry. The statement uses a materialized CTE instead of {@code IN (SELECT … LIMIT)}, because the planner
     * may run a sub-select repeatedly and claim too many events. RETURNING guarantees no order, so the caller sorts.
     * The sub-selects on other events of an aggregate take no locks and wait for none.
     *
     * <p>The claim uses an index scan. Index entries of finished events remain until a vacuum. An index scan marks
     * such entries as dead, and the next scan skips them. The planner prefers a bitmap scan for a few events that
     * need a sort, but a bitmap scan would look up each of these rows in the table every time.
     *
     * <p>Locked rows are updated by their ctid, without a second search. For hundreds of events the planner would
     * otherwise scan the whole table. A ctid is valid only within its partition. If another transaction changes an
     * event between the read and the lock, this statement does not find the new row version. The event is left to
     * the next claim, and this claim returns fewer events than the limit.
     */
    private List<Candidate> take(Connection conn, TableColumns shape, boolean byPriority, ClaimTerms terms, int limit)
            throws SQLException {
        Ordering ordering = terms.ordering();
        WithheldSql except = new WithheldSql(terms.withheld());
        String sql = shape.text(
                except.text(OrderStatements.Text.of(
                        "claim " + terms.content() + (byPriority ? " by priority" : ""), ordering, 0)),
                () -> """
                WITH due AS MATERIALIZED (
                    SELECT e.tableoid AS part, e.ctid AS place, e.locked_by, e.locked_at
                      FROM %1$s AS e
                     WHERE e.status IN (0, 2)
                       AND %6$s
                       %3$s
                       %4$s
                     ORDER BY %5$s
                     LIMIT ?
                       FOR UPDATE OF e SKIP LOCKED
                )
                UPDATE %1$s AS e
                   SET locked_by = ?, locked_at = ?
                  FROM due
                 WHERE e.ctid = due.place
                   AND e.tableoid = due.part
                   AND e.status + 0 IN (0, 2)
                   AND %7$s
                RETURNING %2$s, due.locked_by
                """.formatted(
                        store.table(),
                        terms.idsOnly()
                                ? "e.event_id, " + TableColumns.isLeaseFault("due.locked_at") + " AS lease_fault"
                                : store.rows().columns(shape, "e.", Reading.SMALL) + ", due.locked_at AS was_locked_at",
                        byPriority ? "AND e.priority IS NOT NULL" : "",
                        further(except, ordering),
                        byPriority ? "e.priority DESC, e.available_at" : "e.available_at, e.created_at",
                        IS_FREE,
                        Due.isFree("e.locked_at")));
        return store.queryByIndex(
                conn,
                sql,
                binder -> {
                    bindFree(binder, terms.due());
                    bindFurther(binder, except, ordering);
                    binder.number(limit)
                            .text(terms.claim().token())
                            .time("locked_at", terms.due().now())
                            .time("locked_at", terms.due().lockExpiry());
                },
                row -> store.rows().candidate(row, shape, terms.idsOnly()));
    }
}
