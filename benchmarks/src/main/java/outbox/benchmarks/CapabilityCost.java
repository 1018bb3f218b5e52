package outbox.benchmarks;

import org.postgresql.ds.PGSimpleDataSource;
import outbox.EventEnvelope;
import outbox.jdbc.Capability;
import outbox.jdbc.OutboxSchema;
import outbox.jdbc.PostgresEventStore;
import outbox.spi.Claim;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import javax.sql.DataSource;

/**
 * The cost of each capability for the insert of an event that does not use it, on PostgreSQL. One connection inserts
 * one plain event into each table in turn, so that other load on the machine affects all tables equally. Prints the
 * 10th percentile and the median of the client's time, and the mean of the server's time, in microseconds per
 * insert. The 10th percentile is an insert that was not interrupted, even on a busy machine.
 */
public final class CapabilityCost {

    private static final int AGGREGATES = 1_000;
    private static final int PER_TRANSACTION = 20; // for each table; commits are not measured
    private static final Map<String, List<Capability>> TABLES = new LinkedHashMap<>();

    static {
        TABLES.put("plain_event", List.of());
        TABLES.put("order_event", List.of(Capability.ORDER));
        TABLES.put("keys_event", List.of(Capability.KEYS));
        TABLES.put("priority_event", List.of(Capability.PRIORITY));
        TABLES.put("deadlines_event", List.of(Capability.DEADLINES));
        TABLES.put("control_event", List.of(Capability.KEYS, Capability.PRIORITY, Capability.DEADLINES));
    }

    private CapabilityCost() {}

    public static void main(String[] arguments) throws Exception {
        Locale.setDefault(Locale.ROOT); // the same number format on all machines
        int inserts = arguments.length == 0 ? 40_000 : Integer.parseInt(arguments[0]);
        try (BenchServer server = BenchServer.start(Product.POSTGRESQL)) {
            PGSimpleDataSource database = new PGSimpleDataSource();
            database.setUrl(server.url(server.createDatabase()));
            TABLES.forEach((table, capabilities) -> OutboxSchema.create(
                    database, new PostgresEventStore(table), capabilities.toArray(Capability[]::new)));
            measure(database, inserts / 10); // warms up the compiler and the query plans
            BenchServer.execute(server.adminUrl(), "SELECT pg_stat_statements_reset()");
            server.settle();
            Map<String, double[]> micros = measure(database, inserts);
            print(server, micros);
        }
    }

    /** Returns the microseconds of each insert by table, sorted. */
    private static Map<String, double[]> measure(DataSource database, int inserts) throws SQLException {
        List<String> tables = List.copyOf(TABLES.keySet());
        List<PostgresEventStore> stores =
                tables.stream().map(PostgresEventStore::new).toList();
        double[][] micros = new double[tables.size()][inserts];
        try (Connection connection = database.getConnection()) {
            connection.setAutoCommit(false);
            for (int i = 0; i < inserts; i++) {
                for (int turn = 0; turn < tables.size(); turn++) {
                    int table = (i + turn) % tables.size(); // each table is first equally often
                    List<EventEnvelope> event = List.of(envelope(Event.of(i, AGGREGATES)));
                    Claim birth = new Claim("node-1/" + i, Long.MAX_VALUE);
                    long start = System.nanoTime();
                    stores.get(table).insertAll(connection, event, birth);
                    micros[table][i] = (System.nanoTime() - start) / 1e3;
                }
                if (i % PER_TRANSACTION == 0) {
                    connection.commit();
                }
            }
            connection.commit();
        }
        Map<String, double[]> byTable = new LinkedHashMap<>();
        for (int table = 0; table < tables.size(); table++) {
            Arrays.sort(micros[table]);
            byTable.put(tables.get(table), micros[table]);
        }
        return byTable;
    }

    private static EventEnvelope envelope(Event event) {
        return EventEnvelope.builder("order.placed")
                .aggregateType("Order")
                .aggregateId(event.aggregateId())
                .payloadJson(event.payload())
                .build();
    }

    private static void print(BenchServer server, Map<String, double[]> micros) throws SQLException {
        System.out.printf("PostgreSQL %s, %s%n", server.version(), server.settings());
        double[] plain = new double[3];
        for (Map.Entry<String, double[]> one : micros.entrySet()) {
            double[] sorted = one.getValue();
            double[] figures = {
                sorted[sorted.length / 10], sorted[sorted.length / 2], serverMicros(server, one.getKey())
            };
            if (plain[0] == 0) { // the first table
                plain = figures;
            }
            System.out.printf(
                    "%-16s p10 %6.1f (%+5.1f)   median %6.1f (%+5.1f)   server %6.1f (%+5.1f)%n",
                    one.getKey(),
                    figures[0],
                    figures[0] - plain[0],
                    figures[1],
                    figures[1] - plain[1],
                    figures[2],
                    figures[2] - plain[2]);
        }
    }

    private static double serverMicros(BenchServer server, String table) throws SQLException {
        String sql = "SELECT sum(total_exec_time) * 1000 / sum(calls) FROM pg_stat_statements"
                + " WHERE query LIKE 'INSERT INTO " + table + " %'";
        try (Connection connection = DriverManager.getConnection(server.adminUrl());
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getDouble(1);
        }
    }
}
