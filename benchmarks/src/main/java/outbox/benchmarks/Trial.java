package outbox.benchmarks;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.jspecify.annotations.Nullable;
import outbox.benchmarks.Contender.Node;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import javax.sql.DataSource;

/**
 * One measurement: a new database with the tables of a contender, and new nodes with new pools.
 *
 * <p>The counters are read after the nodes and their pools are closed: a PostgreSQL backend reports its work only
 * after it has been idle for a while, or when it ends.
 */
final class Trial implements AutoCloseable {
    private static final int BACKLOG_CHUNK = 500;
    private static final boolean SHOW_STATEMENTS = Boolean.getBoolean("outbox.benchmarks.statements");

    private final BenchServer server;
    private final Contender contender;
    private final Plan plan;
    private final String database;
    private final Ledger ledger;
    private final Destination destination;
    private final int invoicesPerSecond;
    private final Connection probe;
    private final List<HikariDataSource> pools = new ArrayList<>();
    private final List<Node> nodes = new ArrayList<>();
    private ServerCounters before = new ServerCounters(0, 0, 0); // set by begin
    private @Nullable Invoicing invoicing;
    private int probes; // number of own queries since begin

    Trial(BenchServer server, Contender contender, Plan plan) throws Exception {
        this(
                server,
                contender,
                plan,
                new Destination(Invoicing.first(plan), Invoicing.MOST, Duration.ZERO),
                contender.invoicesPerSecond());
    }

    /** No invoices are written in the background; the workload may write some itself. */
    Trial(BenchServer server, Contender contender, Plan plan, Destination destination) throws Exception {
        this(server, contender, plan, destination, 0);
    }

    private Trial(BenchServer server, Contender contender, Plan plan, Destination destination, int invoicesPerSecond)
            throws Exception {
        this.invoicesPerSecond = invoicesPerSecond;
        this.server = server;
        this.contender = contender;
        this.plan = plan;
        this.destination = destination;
        ledger = plan.ledger();
        database = server.createDatabase();
        BenchServer.execute(url(), Business.CREATE);
        try (HikariDataSource pool = pool(2)) {
            contender.createSchema(server.product(), pool);
        }
        if (plan.history() > 0) {
            BenchServer.execute(url(), contender.historySql(server.product(), plan.history()));
            server.analyze(database);
        }
        probe = DriverManager.getConnection(url());
    }

    private String url() {
        return server.url(database);
    }

    private HikariDataSource pool(int size) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url());
        config.setMaximumPoolSize(size);
        HikariDataSource pool = new HikariDataSource(config);
        Pause.until(() -> pool.getHikariPoolMXBean().getTotalConnections() == size, Duration.ofSeconds(30));
        return pool;
    }

    /** Writes all events of the plan before the delivery starts, with a node that is then closed. */
    void writeBacklog() throws Exception {
        try (HikariDataSource pool = pool(2);
                Node node = contender.node(setup(pool))) {
            for (int from = 0; from < plan.events(); from += BACKLOG_CHUNK) {
                node.writeBacklog(IntStream.range(from, Math.min(from + BACKLOG_CHUNK, plan.events()))
                        .mapToObj(plan::event)
                        .toList());
            }
        }
        String makeDue = contender.makeDueSql(server.product());
        if (!makeDue.isEmpty()) {
            BenchServer.execute(url(), makeDue);
        }
        server.analyze(database);
    }

    /**
     * Writes invoices before the delivery starts, with a node that is then closed. Their numbers follow those
     * of the plan.
     */
    void writeInvoices(int count) throws Exception {
        try (HikariDataSource pool = pool(2);
                Node node = contender.node(setup(pool))) {
            for (int from = 0; from < count; from += BACKLOG_CHUNK) {
                node.writeInvoices(IntStream.range(from, Math.min(from + BACKLOG_CHUNK, count))
                        .mapToObj(number -> plan.event(plan.events() + number))
                        .toList());
            }
        }
        server.analyze(database);
    }

    /** Creates the nodes. They do not deliver yet. */
    void createNodes(UnaryOperator<DataSource> around) throws Exception {
        for (int i = 0; i < plan.nodes(); i++) {
            HikariDataSource pool = pool(Plan.CONNECTIONS / plan.nodes());
            pools.add(pool);
            nodes.add(contender.node(setup(around.apply(pool))));
        }
    }

    private NodeSetup setup(DataSource dataSource) {
        return new NodeSetup(server.product(), dataSource, ledger, plan.ordered(), destination, plan.workers());
    }

    /** Begins to count the work of the server. */
    void begin() throws SQLException {
        server.settle();
        before = server.counters(database);
        probes = 0;
    }

    void startNodes() throws Exception {
        for (Node node : nodes) {
            node.start();
        }
        startInvoices();
    }

    /** Begins to write invoices in the background, if the contender has any. */
    void startInvoices() {
        if (invoicesPerSecond > 0) {
            invoicing = Invoicing.start(plan, nodes.get(0), invoicesPerSecond);
        }
    }

    /** Returns the node of a writer. */
    Node node(int writer) {
        return nodes.get(writer % nodes.size());
    }

    Ledger ledger() {
        return ledger;
    }

    /**
     * Waits until the listener has received every event and the database has no pending event. Returns false if the
     * time limit passes first.
     */
    boolean awaitDone(long untilNanoTime) throws InterruptedException, SQLException {
        if (!ledger.awaitAll(untilNanoTime)) {
            return false;
        }
        while (pending() > plan.hopeless()) {
            if (System.nanoTime() > untilNanoTime) {
                return false;
            }
            Thread.sleep(10);
        }
        return true;
    }

    /** Returns how many events are not done in the database. */
    long pending() throws SQLException {
        return count(contender.pendingSql());
    }

    /** Waits until a query returns this count. Returns false if the time limit passes first. */
    boolean awaitCount(String sql, int count, long untilNanoTime) throws InterruptedException, SQLException {
        while (count(sql) < count) {
            if (System.nanoTime() > untilNanoTime) {
                return false;
            }
            Thread.sleep(10);
        }
        return true;
    }

    /** Runs a query that is not counted as work of the server, and returns its result. */
    long count(String sql) throws SQLException {
        probes++;
        try (Statement statement = probe.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    /** Closes the nodes and returns the work of the server since {@link #begin()}. */
    ServerCounters end() throws SQLException {
        closeNodes();
        probe.close();
        server.awaitDisconnected(database);
        if (SHOW_STATEMENTS) {
            server.busiest(database).forEach(System.out::println);
        }
        return server.counters(database).minus(before).withoutProbes(probes);
    }

    private void closeNodes() {
        if (invoicing != null) {
            Invoicing last = invoicing;
            invoicing = null;
            last.close();
        }
        for (Node node : nodes) {
            node.close();
        }
        nodes.clear();
        pools.forEach(HikariDataSource::close);
        pools.clear();
    }

    @Override
    public void close() throws SQLException {
        try {
            closeNodes();
        } finally {
            probe.close();
            server.dropDatabase(database);
        }
    }
}
