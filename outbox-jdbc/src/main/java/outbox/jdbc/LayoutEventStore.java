package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.Experimental;
import outbox.jdbc.internal.claim.Claims;
import outbox.jdbc.internal.claim.LayoutFence;
import outbox.jdbc.internal.claim.LedFence;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.relay.DescribedTable;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.Leadership;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import javax.sql.DataSource;

/**
 * A store on a table of any {@link TableLayout}. It gives the same guarantees as {@link AbstractJdbcEventStore}, as
 * far as the layout supports them. It claims events in one transaction: it reads candidates and takes them with a
 * conditional UPDATE.
 *
 * <p>If the table has no column for the token of a claim, the exact lock time identifies the claim, and this
 * instance remembers it. So a dispatcher and its poller must share one instance. If the table has no lock columns,
 * claims are kept in memory and need a {@link Leadership}. Thread-safe. Keeps no connection.
 */
@Experimental
public final class LayoutEventStore extends TableEventStore implements DescribedTable {

    private final TableLayout layout;
    private final LayoutRows rows;
    private final LayoutClaims claims;
    private final HeldEventStatements held;
    private final LayoutAdmin admin;
    private final AttemptLimits limits;
    private volatile @Nullable String idType; // any thread writes it when it reads the columns of the table
    private volatile String byId = ""; // any thread writes it when it reads the columns of the table

    private LayoutEventStore(TableLayout layout, Dialect dialect, LayoutSql sql, LayoutFence fence) {
        super(layout.table(), dialect, sql, fence);
        this.layout = layout;
        this.rows = new LayoutRows(this);
        this.held = new HeldEventStatements(this, true);
        this.limits = new AttemptLimits(this);
        this.claims = new LayoutClaims(this);
        this.admin = new LayoutAdmin(this);
    }

    /**
     * Creates a store for a table that several nodes may share.
     *
     * @throws EventStoreException if the layout has no columns for claims
     */
    public static LayoutEventStore of(DataSource dataSource, TableLayout layout) {
        return of(JdbcEventStores.dialect(dataSource), layout, null);
    }

    /**
     * Creates a store for a table of any layout. If the layout has no columns for claims, the table is used only
     * while this node is the leader.
     */
    public static LayoutEventStore of(DataSource dataSource, TableLayout layout, Leadership leadership) {
        return of(JdbcEventStores.dialect(dataSource), layout, leadership);
    }

    /** Creates a store for the database of a connection. */
    static LayoutEventStore of(Connection connection, TableLayout layout) throws SQLException {
        return of(JdbcEventStores.dialect(connection), layout, null);
    }

    private static LayoutEventStore of(Dialect dialect, TableLayout layout, @Nullable Leadership leadership) {
        LayoutSql sql = LayoutSql.of(layout, dialect);
        return new LayoutEventStore(layout, dialect, sql, fence(layout, sql, leadership));
    }

    private static LayoutFence fence(TableLayout layout, LayoutSql sql, @Nullable Leadership leadership) {
        if (layout.has(LayoutColumn.LOCKED_BY)) {
            return sql.fenceByToken();
        }
        if (leadership != null && !layout.has(LayoutFeature.SHARED_CLAIMS)) {
            return new LedFence(leadership);
        }
        layout.require(LayoutFeature.SHARED_CLAIMS, "be shared by claims, and no leadership was given");
        return sql.fenceByTime();
    }

    public TableLayout layout() {
        return layout;
    }

    @Override
    public int maxAttempts() {
        return layout.maxAttempts();
    }

    @Override
    public boolean isShared() {
        return layout.has(LayoutFeature.SHARED_CLAIMS);
    }

    AttemptLimits limits() {
        return limits;
    }

    @Override
    LayoutRows rows() {
        return rows;
    }

    @Override
    Claims claims() {
        return claims;
    }

    @Override
    HeldEventStatements held() {
        return held;
    }

    @Override
    AdminStatements admin() {
        return admin;
    }

    // ---- how statements name the table and its rows ----

    @Override
    TableColumns readShape(Connection conn) throws SQLException {
        TableColumns shape = TableColumns.readAny(conn, sqlName());
        List<String> missing = missingIn(shape);
        if (!missing.isEmpty()) {
            throw new EventStoreException(
                    "Table " + table() + " is not of layout '" + layout.name() + "': it has no column "
                            + String.join(", ", missing),
                    null);
        }
        String id = sql().plain(LayoutColumn.EVENT_ID);
        idType = shape.typeOf(id);
        byId = dialect().indexHint(conn, table(), id);
        return shape;
    }

    List<String> missingIn(TableColumns shape) {
        return layout.columns().keySet().stream()
                .filter(column -> !layout.isOptional(column))
                .map(sql()::plain)
                .filter(column -> !shape.has(column))
                .toList();
    }

    @Override
    String sqlName() {
        return sql().table(table());
    }

    @Override
    String idColumn() {
        return sql().column(LayoutColumn.EVENT_ID);
    }

    @Override
    @Nullable
    String idType() {
        return idType;
    }

    @Override
    String byPrimaryKey() {
        return byId;
    }

    /** Whether the table has the column, which may be optional. */
    boolean has(TableColumns shape, LayoutColumn column) {
        return layout.has(column) && shape.has(sql().plain(column));
    }

    /** A UUID column cannot contain a value that is not a UUID. */
    @Override
    Collection<String> possible(Connection conn, Collection<String> eventIds) throws SQLException {
        if (!isUuid(shape(conn), LayoutColumn.EVENT_ID)) {
            return eventIds;
        }
        return eventIds.stream().filter(LayoutEventStore::isUuid).toList();
    }

    boolean isUuid(TableColumns shape, LayoutColumn column) {
        return shape.typeOf(sql().plain(column)).equals("uuid");
    }

    static boolean isUuid(String text) {
        try {
            return text.length() == 36 && UUID.fromString(text) != null;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    // ---- writing ----

    @Override
    public boolean insertAll(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
        if (birth != null) {
            layout.require(LayoutFeature.BORN_LEASED, "take events that are born leased");
        }
        return run("insert " + events.size() + " events", () -> {
            new LayoutInsert(this, shape(conn)).insert(conn, events, birth);
            return false;
        });
    }

    // ---- claiming ----

    /** Returns false: a layout need not have the columns that tell which events are withheld. */
    @Override
    public boolean canWithhold() {
        return false;
    }

    @Override
    public List<String> endUntaken(Connection conn, ClaimRequest overdue, Instant now, String reason) {
        throw new UnsupportedOperationException("A table of a layout cannot withhold events");
    }

    @Override
    public boolean mayBePartitioned() {
        return true;
    }

    /**
     * Maintains daily partitions, one week ahead. Only a table of the module layout on PostgreSQL that
     * {@link LayoutSchema#createPartitioned} created has partitions.
     */
    @Override
    public boolean keepPartitions(Connection conn, Duration retention) {
        return run("keep the partitions", () -> new DayPartitions(this).keep(conn, retention));
    }
}
