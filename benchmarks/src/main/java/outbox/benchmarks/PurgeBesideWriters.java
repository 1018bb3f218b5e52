package outbox.benchmarks;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import outbox.jdbc.LayoutEventStore;
import outbox.jdbc.LayoutSchema;
import outbox.jdbc.OutboxMessage;
import outbox.jdbc.OutboxPublisher;
import outbox.jdbc.TableLayout;
import outbox.purge.OutboxPurge;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.DoubleStream;
import javax.sql.DataSource;

/**
 * The effect of a purge of a million delivered events on concurrent writers, on PostgreSQL. Measures the time from
 * the start of a small transaction to the end of its commit, at a constant rate, without the purge (before and after
 * it) and during the purge. Exits with code 1 if the slowdown is larger than the target allows.
 */
public final class PurgeBesideWriters {

    private static final String TABLE = "bench_outbox";
    private static final int WRITERS = 4;
    private static final int PER_SECOND = 200; // of all writers together
    private static final Duration ALONE = Duration.ofSeconds(20);
    private static final double BAR = 2.0;

    private PurgeBesideWriters() {}

    public static void main(String[] arguments) throws Exception {
        Locale.setDefault(Locale.ROOT); // the same number format on all machines
        int rows = arguments.length == 0 ? 1_000_000 : Integer.parseInt(arguments[0]);
        boolean good;
        try (BenchServer server = BenchServer.start(Product.POSTGRESQL)) {
            String database = server.createDatabase();
            try (HikariDataSource pool = pool(server.url(database))) {
                LayoutEventStore store = LayoutEventStore.of(pool, TableLayout.module(TABLE));
                LayoutSchema.create(pool, store);
                fill(pool, rows);
                server.analyze(database);
                server.settle();
                good = measure(pool, store, rows);
            }
        }
        System.exit(good ? 0 : 1);
    }

    private static boolean measure(DataSource pool, LayoutEventStore store, int rows) throws Exception {
        write(pool, endsAfter(Duration.ofSeconds(5))); // warms up the compiler
        double[] before = write(pool, endsAfter(ALONE));
        OutboxPurge purge = OutboxPurge.builder()
                .connectionProvider(pool::getConnection)
                .eventStore(store)
                .retention(Duration.ofDays(7))
                .build();
        ExecutorService background = Executors.newSingleThreadExecutor();
        long start = System.nanoTime();
        Future<Long> purged = background.submit(() -> purge.purge().done());
        double[] beside = write(pool, purged::isDone);
        double seconds = (System.nanoTime() - start) / 1e9;
        background.shutdown();
        double[] after = write(pool, endsAfter(ALONE));
        double[] alone = DoubleStream.concat(Arrays.stream(before), Arrays.stream(after))
                .sorted()
                .toArray();
        System.out.printf("purged %,d of %,d events in %.1f s%n", purged.get(), rows, seconds);
        return isWithinBar(alone, beside) && purged.get() == rows;
    }

    /** Whether no percentile is larger than its base value times the target. False if nothing was written. */
    static boolean isWithinBar(double[] alone, double[] beside) {
        boolean within = true;
        for (int percent : new int[] {50, 95, 99}) {
            double before = percentile(alone, percent);
            double during = percentile(beside, percent);
            System.out.printf(
                    "commit p%d: %.2f ms alone, %.2f ms beside the purge, ratio %.2f (bar %.1f)%n",
                    percent, before, during, during / before, BAR);
            within &= during / before <= BAR; // false for NaN
        }
        return within;
    }

    private static BooleanSupplier endsAfter(Duration time) {
        long end = System.nanoTime() + time.toNanos();
        return () -> System.nanoTime() - end >= 0;
    }

    /** Writes at the constant rate until it is over. Returns the milliseconds of each transaction, sorted. */
    private static double[] write(DataSource pool, BooleanSupplier over) throws Exception {
        ExecutorService writers = Executors.newFixedThreadPool(WRITERS);
        try {
            long start = System.nanoTime();
            List<Future<List<Double>>> all = new ArrayList<>();
            for (int i = 0; i < WRITERS; i++) {
                int writer = i;
                Callable<List<Double>> work = () -> write(pool, over, start, writer);
                all.add(writers.submit(work));
            }
            List<Double> millis = new ArrayList<>();
            for (Future<List<Double>> one : all) {
                millis.addAll(one.get(1, TimeUnit.HOURS));
            }
            return millis.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        } finally {
            writers.shutdown();
        }
    }

    private static List<Double> write(DataSource pool, BooleanSupplier over, long start, int writer)
            throws SQLException {
        OutboxPublisher publisher = new OutboxPublisher();
        UUID tenant = UUID.randomUUID();
        List<Double> millis = new ArrayList<>();
        for (long n = writer; !over.getAsBoolean(); n += WRITERS) {
            Pause.untilNanoTime(start + n * 1_000_000_000L / PER_SECOND);
            long begin = System.nanoTime();
            try (Connection connection = pool.getConnection()) {
                publisher.enqueue(
                        connection,
                        TABLE,
                        new OutboxMessage(tenant, "bench.event.written.v1", UUID.randomUUID(), "{\"n\": " + n + "}"));
                connection.commit();
            }
            millis.add((System.nanoTime() - begin) / 1e6);
        }
        return millis;
    }

    /** Inserts events that were delivered eight days ago. */
    private static void fill(DataSource pool, int rows) throws SQLException {
        String sql = """
                INSERT INTO bench_outbox (tenant_id, topic, payload, event_id, created_at, published_at)
                SELECT gen_random_uuid(), 'bench.event.done.v1', jsonb_build_object('n', n, 'text', repeat('x', 150)),
                       gen_random_uuid(), now() - interval '9 days', now() - interval '8 days' + n * interval '1 microsecond'
                  FROM generate_series(1, ?) AS n
                """;
        try (Connection connection = pool.getConnection();
                PreparedStatement insert = connection.prepareStatement(sql)) {
            insert.setInt(1, rows);
            insert.executeUpdate();
            connection.commit();
        }
    }

    private static HikariDataSource pool(String url) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(WRITERS + 2);
        config.setAutoCommit(false);
        return new HikariDataSource(config);
    }

    private static double percentile(double[] sorted, int percent) {
        return sorted.length == 0
                ? Double.NaN
                : sorted[Math.min(sorted.length - 1, (int) Math.ceil(sorted.length * percent / 100.0) - 1)];
    }
}
