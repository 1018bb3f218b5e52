package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.internal.claim.ClaimTerms;
import outbox.jdbc.internal.claim.Claims;
import outbox.jdbc.internal.claim.Due;
import outbox.jdbc.internal.claim.WithheldSql;
import outbox.jdbc.internal.row.Candidate;
import outbox.jdbc.internal.row.ContentSql.Reading;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.Binds;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.PriorityShare;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The claim of the standard table, for any database. It reads candidates and then takes them with a conditional
 * UPDATE. Only the UPDATE decides which claim owns an event.
 */
class ClaimStatements implements Claims {

    /** Whether e is due and no claim holds it. Binds: {@link #bindFree}. */
    static final String IS_FREE =
            "e.available_at <= ? AND " + Due.isOld("e.created_at") + " AND " + Due.isFree("e.locked_at");

    final AbstractJdbcEventStore store;
    final PriorityShare priorities = new PriorityShare();

    ClaimStatements(AbstractJdbcEventStore store) {
        this.store = store;
    }

    @Override
    public List<ClaimedEvent> claim(Connection conn, ClaimTerms terms) throws SQLException {
        WithheldSql except = new WithheldSql(terms.withheld());
        List<Candidate> candidates =
                candidates(conn, terms.limit(), (by, limit) -> candidates(conn, by, terms, except, limit));
        Set<String> taken = take(conn, terms, Candidate.ids(candidates));
        return Candidate.claimed(
                candidates.stream().filter(one -> taken.contains(one.eventId())).toList(), terms.claim());
    }

    /** How the candidates of one statement are selected. */
    private enum By {
        /** The oldest NEW events. */
        NEW("e.status = 0", "e.available_at, e.created_at"),
        /** The oldest RETRY events. */
        RETRY("e.status = 2", "e.available_at, e.created_at"),
        /** The events with the highest priority. */
        PRIORITY("e.priority_slot > 0", "e.priority_slot DESC, e.available_at");

        private final String condition;
        private final String order;

        By(String condition, String order) {
            this.condition = condition;
            this.order = order;
        }
    }

    /** Finds candidates of one selection. */
    @FunctionalInterface
    private interface Candidates {
        List<Candidate> of(By by, int limit) throws SQLException;
    }

    /**
     * Returns candidates by age. If events can have priorities and more are due than the limit, a share is selected
     * by priority and the rest by age.
     */
    private List<Candidate> candidates(Connection conn, int limit, Candidates source) throws SQLException {
        List<Candidate> byAge = byAge(limit, source);
        if (!store.shape(conn).has("priority_slot") || byAge.size() < limit) { // byAge has all due and free events
            return byAge;
        }
        int share = priorities.of(limit);
        List<Candidate> urgent = share == 0 ? List.of() : source.of(By.PRIORITY, share);
        if (urgent.isEmpty()) {
            return byAge;
        }
        int kept = limit - share;
        List<Candidate> oldest = new ArrayList<>(byAge);
        if (kept > 0) { // select both statuses by age again, so that neither takes the whole rest
            oldest.addAll(source.of(By.NEW, kept));
            oldest.addAll(source.of(By.RETRY, kept));
            oldest.sort(Comparator.comparing(Candidate::dueAt));
        }
        Map<String, Candidate> chosen = new LinkedHashMap<>();
        add(chosen, oldest, kept);
        add(chosen, urgent, limit);
        add(chosen, oldest, limit);
        return List.copyOf(chosen.values());
    }

    /**
     * Queries each status separately. Only then does the index (status, available_at, created_at) serve the order;
     * otherwise InnoDB sorts the rows and locks every row that it sorts. Which status comes first is random, so that
     * neither can starve the other.
     */
    private static List<Candidate> byAge(int limit, Candidates source) throws SQLException {
        Map<String, Candidate> found = new LinkedHashMap<>();
        boolean newFirst = ThreadLocalRandom.current().nextBoolean();
        for (By by : newFirst ? List.of(By.NEW, By.RETRY) : List.of(By.RETRY, By.NEW)) {
            if (found.size() < limit) {
                add(found, source.of(by, limit - found.size()), limit);
            }
        }
        return found.values().stream()
                .sorted(Comparator.comparing(Candidate::dueAt))
                .toList();
    }

    private static void add(Map<String, Candidate> found, List<Candidate> more, int limit) {
        for (Candidate candidate : more) {
            if (found.size() < limit) {
                found.putIfAbsent(candidate.eventId(), candidate);
            }
        }
    }

    private List<Candidate> candidates(Connection conn, By by, ClaimTerms terms, WithheldSql except, int limit)
            throws SQLException {
        Ordering ordering = terms.ordering();
        TableColumns shape = shape(conn, ordering);
        String sql = shape.text(
                except.text(OrderStatements.Text.of("claim " + terms.content() + " " + by, ordering, 0)),
                () -> store.dialect()
                        .candidatesSql(
                                store,
                                terms.idsOnly()
                                        ? "e.event_id, e.locked_by, " + TableColumns.isLeaseFault("e.locked_at")
                                                + " AS lease_fault"
                                        : store.rows().columns(shape, "e.", Reading.SMALL)
                                                + ", e.locked_by, e.locked_at AS was_locked_at",
                                by.condition + " AND " + IS_FREE + further(except, ordering),
                                by.order));
        return store.query(
                conn,
                sql,
                binder -> {
                    bindFree(binder, terms.due());
                    bindFurther(binder, except, ordering);
                    store.dialect().bindLimit(binder, limit, ordering.isOn());
                },
                row -> store.rows().candidate(row, shape, terms.idsOnly()));
    }

    /** Returns the columns of the table. If an ordering is requested, the table must have the order column. */
    final TableColumns shape(Connection conn, Ordering ordering) throws SQLException {
        return ordering.isOn() ? store.order().require(conn) : store.shape(conn);
    }

    /** Returns the conditions on e in addition to {@link #IS_FREE}, beginning with AND. */
    final String further(WithheldSql except, Ordering ordering) {
        return except.condition("e.")
                + (ordering.isOn() ? " AND " + store.order().isNext(ordering) : "");
    }

    final void bindFurther(Binder binder, WithheldSql except, Ordering ordering) throws SQLException {
        except.bind(binder);
        if (ordering.isOn()) {
            store.order().bindNext(binder, ordering);
        }
    }

    /** Binds: now, latest created_at, lock expiry. */
    static Binder bindFree(Binder binder, Due due) throws SQLException {
        return binder.time("available_at", due.now())
                .time("created_at", due.latestCreation())
                .time("locked_at", due.lockExpiry());
    }

    /**
     * Takes the candidates that are still free and due, and returns their ids. An event that failed after it was
     * read waits for its retry. Candidates may be locked before this call, but that only avoids useless attempts.
     */
    private Set<String> take(Connection conn, ClaimTerms terms, Set<String> ids) throws SQLException {
        Due due = terms.due();
        int count = store.updateHeldIds(
                conn,
                """
                UPDATE %1$s
                   SET locked_by = ?, locked_at = ?
                 WHERE %2$s
                   AND status + 0 IN (0, 2)
                   AND available_at <= ?
                   AND\s""" + Due.isFree("locked_at"),
                ids,
                binder -> binder.text(terms.claim().token()).time("locked_at", due.now()),
                binder -> binder.time("available_at", due.now()).time("locked_at", due.lockExpiry()));
        return count == ids.size()
                ? ids
                : store.held().heldBy(conn, terms.claim().token(), ids);
    }

    @Override
    public Optional<ClaimedEvent> claimOne(Connection conn, Claim claim, String eventId, Due due, @Nullable Claim held)
            throws SQLException {
        TableColumns shape = store.shape(conn);
        String heldToken = held == null ? "" : held.token();
        // The UPDATE decides who owns the event, but it must not wait for a lock.
        String lock = store.dialect().locksFirst() ? store.dialect().lockNow() : "";
        List<Candidate> rows = store.query(
                conn,
                """
                SELECT %s, locked_by, locked_at AS was_locked_at
                  FROM %s
                 WHERE event_id = ? AND status + 0 IN (0, 2)
                 %s""".formatted(store.rows().columns(shape, "", Reading.WHOLE), store.table(), lock),
                binder -> binder.text(eventId),
                row -> store.rows().whole(row, shape, heldToken));
        if (rows.isEmpty()) {
            return Optional.empty();
        }
        // Binds: token, now, event_id, now, token held, lock expiry, token held.
        String sql = """
                UPDATE %s
                   SET locked_by = ?, locked_at = ?
                 WHERE event_id = ?
                   AND status + 0 IN (0, 2)
                   AND (available_at <= ? OR locked_by = ?)
                   AND (locked_at IS NULL OR locked_at < ? OR locked_by = ?)
                """.formatted(store.table());
        Binds binds = binder -> binder.text(claim.token())
                .time("locked_at", due.now())
                .text(eventId)
                .time("available_at", due.now())
                .text(heldToken)
                .time("locked_at", due.lockExpiry())
                .text(heldToken);
        return store.dialect().updateHeld(store, conn, sql, binds) == 0
                ? Optional.empty()
                : Optional.of(Candidate.claimed(rows, claim).get(0));
    }

    @Override
    public List<String> due(Connection conn, Due due, int limit) throws SQLException {
        List<String> found = new ArrayList<>();
        for (By by : List.of(By.NEW, By.RETRY)) {
            found.addAll(store.queryAnew(
                    conn,
                    Dialect.lookSql(store, "e.event_id", by.condition + " AND " + IS_FREE, by.order),
                    binder -> bindFree(binder, due).number(limit),
                    row -> row.getString(1)));
        }
        return found;
    }

    @Override
    public List<String> endUnreachable(Connection conn, Instant now, Instant lockExpiry, String reason, int limit)
            throws SQLException {
        List<String> ids = new ArrayList<>();
        boolean each = store.dialect().dueIndexStartsWithStatus();
        for (String status : each ? List.of("= 0", "= 2") : List.of("IN (0, 2)")) {
            // Binds: lock expiry, limit.
            String sql = store.shape(conn).text("never due " + status, () -> """
                            SELECT event_id
                              FROM %s
                             WHERE status %s
                               AND available_at >= %s
                               AND %s
                             ORDER BY available_at
                             LIMIT ?
                             %s
                            """.formatted(
                            store.table(),
                            status,
                            TableColumns.NEVER_SQL,
                            Due.isFree("locked_at"),
                            store.dialect().lockCandidates()));
            ids.addAll(store.queryByIndex(
                    conn,
                    sql,
                    binder -> binder.time("locked_at", lockExpiry).number(limit - ids.size()),
                    row -> row.getString(1)));
        }
        if (!ids.isEmpty()) {
            store.control().bury(conn, ids, now, lockExpiry, reason);
        }
        return ids;
    }

    /** Ends events that were due before {@code due.now()} and that no node claimed. */
    final List<String> endUntaken(Connection conn, ClaimRequest overdue, Instant now, String reason)
            throws SQLException {
        Due due = Due.of(overdue);
        WithheldSql except = new WithheldSql(overdue.withheld());
        List<String> ids = untaken(conn, due, overdue.limit(), overdue.ordering(), except);
        store.updateHeldIds(
                conn,
                """
                UPDATE %1$s
                   SET status = 3, done_at = ?, last_error = ?, locked_by = NULL, locked_at = NULL
                 WHERE %2$s
                   AND status + 0 = 0
                   AND attempts = 0
                   AND available_at <= ?
                   AND (locked_at IS NULL OR locked_at < ?)
                """,
                ids,
                binder -> binder.time("done_at", now).text(reason),
                binder -> binder.time("available_at", due.now()).time("locked_at", due.lockExpiry()));
        return ids;
    }

    /** Binds: latest available_at, lock expiry, those of the withheld condition, those of the order, limit. */
    private List<String> untaken(Connection conn, Due due, int limit, Ordering ordering, WithheldSql except)
            throws SQLException {
        String condition = "e.status = 0 AND e.attempts = 0 AND e.available_at <= ?"
                + " AND (e.locked_at IS NULL OR e.locked_at < ?)";
        String sql = shape(conn, ordering)
                .text(
                        except.text(OrderStatements.Text.of("untaken", ordering, 0)),
                        () -> store.dialect()
                                .candidatesSql(
                                        store,
                                        "e.event_id",
                                        condition + further(except, ordering),
                                        "e.available_at, e.created_at"));
        return store.queryAnew(
                conn,
                sql,
                binder -> {
                    binder.time("available_at", due.now()).time("locked_at", due.lockExpiry());
                    bindFurther(binder, except, ordering);
                    store.dialect().bindLimit(binder, limit, ordering.isOn());
                },
                row -> row.getString(1));
    }
}
