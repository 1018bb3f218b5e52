package outbox.cli;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.pool.HikariPool.PoolInitializationException;
import org.jspecify.annotations.Nullable;
import outbox.admin.OutboxAdmin;
import outbox.cli.doctor.Doctor;
import outbox.cli.doctor.TableKind;
import outbox.internal.text.SafeLogger;
import outbox.jdbc.JdbcLeadership;
import outbox.jdbc.LayoutEventStore;
import outbox.jdbc.LeadershipRefusedException;
import outbox.purge.OutboxPurge;
import outbox.relay.Relay;
import outbox.spi.ConnectionProvider;
import outbox.spi.Leadership;
import outbox.spi.LeasingEventStore;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * All parts of a relay process: a pool, a relay and a purge for each table, the transports, and the server of health
 * and metrics.
 *
 * <p>One thread starts and closes it. If the start fails, the parts that were already started are closed.
 */
final class RelayProcess implements AutoCloseable {

    private static final Logger LOG = SafeLogger.of(RelayProcess.class);

    /**
     * Connections that a table may need at the same time: claim, outcomes, leases, purge, counts, the lock of the
     * leader.
     */
    private static final int CONNECTIONS_PER_TABLE = 6;

    private static final Duration ASK_EVERY = Duration.ofSeconds(1);
    private static final Duration UNREACHED_AFTER = Duration.ofSeconds(5);

    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(10);
    private static final Duration SHORTEST_TERM = Duration.ofMillis(100);
    private static final Duration LONGEST_TERM = Duration.ofMinutes(1); // the same limit as in JdbcLeadership

    private final RelaySettings settings;
    private final HikariDataSource pool;
    private final Meters meters;
    private final StdoutTransport stdout;
    private final BackgroundReading<Boolean> database;
    private final Map<String, Relay> relays = new LinkedHashMap<>(); // by table; complete before the server starts
    private final Map<String, TableHealth> tables =
            new LinkedHashMap<>(); // by label; complete before the server starts
    private final List<AutoCloseable> others = new ArrayList<>(); // closed after the relays, in reverse order
    private @Nullable HealthServer server; // starting thread only

    private RelayProcess(RelaySettings settings, Consumer<String> onBroken) throws SQLException {
        this.settings = settings;
        this.pool = pool(settings);
        this.meters = new Meters();
        this.stdout = new StdoutTransport(new FileOutputStream(FileDescriptor.out), onBroken);
        this.database = BackgroundReading.start("database", this::askDatabase, ASK_EVERY);
        others.add(pool);
        others.add(meters);
        others.add(database);
    }

    /**
     * Starts everything.
     *
     * @param onBroken receives the reason why the process can no longer deliver and should end; must not block
     * @throws SettingsException if a setting does not fit the database, or an address is in use
     */
    static RelayProcess start(RelaySettings settings, Consumer<String> onBroken) throws SQLException {
        RelayProcess process = new RelayProcess(settings, onBroken);
        try {
            process.run();
            return process;
        } catch (Throwable e) {
            process.close();
            throw e;
        }
    }

    private void run() throws SQLException {
        if (settings.delivery().enabled()) {
            requireDifferent(settings.delivery().tables(), Setting.RELAY_TABLES);
            for (String table : settings.delivery().tables()) {
                addRelay(table, Target.kind(pool, table));
            }
        }
        if (settings.cleaner().enabled()) {
            requireDifferent(settings.cleaner().tables(), Setting.CLEANER_TABLES);
            for (String table : settings.cleaner().tables()) {
                OutboxPurge purge = purge(table, Target.kind(pool, table));
                others.add(purge);
                purge.start();
            }
        }
        server = HealthServer.start(settings.server(), this::health, meters::scrape);
        relays.values().forEach(Relay::start);
    }

    private void requireDifferent(List<String> tables, Setting setting) throws SQLException {
        Map<String, String> spellings = new HashMap<>(); // spelling by qualified name
        for (String table : tables) {
            String other = spellings.put(qualified(table), table);
            if (other != null) {
                throw new SettingsException(
                        setting.key() + " names one table twice, as " + other + " and as " + table + ": keep one.");
            }
        }
    }

    private String qualified(String table) throws SQLException {
        return Target.qualified(pool, settings.database().product(), table);
    }

    /** Opens the pool. Fails at once if the database cannot be reached. */
    private static HikariDataSource pool(RelaySettings settings) throws SQLException {
        Database database = settings.database();
        int tables = Math.max(
                settings.delivery().tables().size(), settings.cleaner().tables().size());
        HikariConfig config = new HikariConfig();
        config.setPoolName("outbox-relay");
        config.setDataSource(database);
        config.setMaximumPoolSize(CONNECTIONS_PER_TABLE * tables + 1);
        config.setMinimumIdle(1);
        config.setIdleTimeout(TimeUnit.MINUTES.toMillis(1));
        config.setConnectionTimeout(CONNECT_LIMIT.toMillis());
        config.setInitializationFailTimeout(CONNECT_LIMIT.toMillis());
        try {
            return new HikariDataSource(config);
        } catch (PoolInitializationException e) {
            throw new SQLException("Cannot reach the database " + database + ": " + e.getMessage(), e);
        }
    }

    private void addRelay(String table, TableKind kind) throws SQLException {
        RelaySettings.Delivery delivery = settings.delivery();
        String label = Target.label(pool, table);
        Leadership leadership = delivery.singleActive() ? leadership(table) : null;
        try {
            int maxAttempts = delivery.maxAttempts().of(pool, kind, table);
            LeasingEventStore store = store(table, kind, maxAttempts, leadership);
            OutboxAdmin admin = new OutboxAdmin(connections(), store);
            Transport transport = Transport.to(settings, table, stdout);
            others.add(transport);
            Relay.Builder builder = Relay.builder()
                    .connectionProvider(connections())
                    .eventStore(store)
                    .table(table)
                    .listener(transport.listener())
                    .interceptor(new LoggedFields())
                    .protection(transport.protection())
                    .pollInterval(delivery.pollInterval())
                    .batchSize(delivery.batchSize())
                    .lease(delivery.lockTtl())
                    .maxAttempts(maxAttempts)
                    .dispatchTimeout(transport.timeLimit(delivery.dispatchTimeout()))
                    .drainTimeout(drainOfDeliveries(delivery.drainTime()))
                    .lastErrorMaxBytes(delivery.lastErrorMaxBytes())
                    .withoutPurge();
            delivery.databaseTimeout().ifPresent(builder::databaseTimeout);
            if (settings.server().metricsPath().isPresent()) {
                builder.metrics(meters.of(label, admin, leadership));
            }
            Relay relay = (leadership == null ? builder : builder.leadership(leadership)).build();
            relays.put(table, relay);
            TableHealth health = new TableHealth(relay, admin, delivery.maxSilence());
            tables.put(label, health);
            others.add(health);
        } catch (Throwable e) {
            if (leadership != null) {
                leadership.close();
            }
            throw e;
        }
    }

    /** The part of the drain time for running deliveries. The rest is for writing outcomes and closing. */
    private static Duration drainOfDeliveries(Duration drainTime) {
        Duration rest = Duration.ofSeconds(6);
        return drainTime.compareTo(rest.multipliedBy(2)) > 0 ? drainTime.minus(rest) : drainTime.dividedBy(2);
    }

    /**
     * With a term of half the poll interval, a standby takes over within two intervals. The lock uses the name with
     * its schema, so that two spellings of one table share it. The first call of lead() is here, so that a node that
     * can never lead is refused at the start.
     */
    private Leadership leadership(String table) throws SQLException {
        requirePlaceForLeader(table);
        Leadership leadership = JdbcLeadership.of(
                pool, qualified(table), term(settings.delivery().pollInterval()));
        try {
            leadership.lead();
            return leadership;
        } catch (LeadershipRefusedException e) {
            leadership.close();
            throw new SettingsException(e.getMessage() + " Change the URL, or set " + Setting.RELAY_SINGLE_ACTIVE.key()
                    + " to false on all nodes of this table.");
        }
    }

    static Duration term(Duration pollInterval) {
        Duration half = pollInterval.dividedBy(2);
        Duration term = half.compareTo(SHORTEST_TERM) < 0 ? SHORTEST_TERM : half;
        return term.compareTo(LONGEST_TERM) > 0 ? LONGEST_TERM : term;
    }

    /** Refuses H2 without its leader table. H2 has no session locks, so its leader holds a lease in that table. */
    private void requirePlaceForLeader(String table) throws SQLException {
        if (!settings.database().product().equals("h2")) {
            return;
        }
        String leases = table.substring(0, table.indexOf('.') + 1) + "outbox_leader";
        try (Connection connection = pool.getConnection()) {
            if (!Doctor.hasTable(connection, leases)) {
                throw new SettingsException("There is no table " + leases + ", which a leader needs on H2. Run: outbox"
                        + " schema apply --table " + table + " --with leader, or set "
                        + Setting.RELAY_SINGLE_ACTIVE.key() + " to false.");
            }
        }
    }

    private LeasingEventStore store(String table, TableKind kind, int maxAttempts, @Nullable Leadership leadership) {
        if (kind == TableKind.EVENT) {
            return settings.database().store(table);
        }
        if (leadership != null) {
            return LayoutEventStore.of(pool, Target.layout(kind, table, maxAttempts), leadership);
        }
        if (kind == TableKind.TEXT_STATUS) {
            throw new SettingsException("Table " + table + " has no place for claims, so relays cannot share it: set "
                    + Setting.RELAY_SINGLE_ACTIVE.key() + " to true.");
        }
        return LayoutEventStore.of(pool, Target.layout(kind, table, maxAttempts));
    }

    /**
     * The purge of a table. In a partitioned table it drops partitions, and deletes single rows only from partitions
     * that could not be dropped.
     */
    private OutboxPurge purge(String table, TableKind kind) throws SQLException {
        outbox.relay.RelaySettings.Cleaner cleaner = settings.cleaner();
        LeasingEventStore store = Target.subject(
                        settings.database(),
                        table,
                        kind,
                        settings.delivery().maxAttempts().of(pool, kind, table))
                .store();
        OutboxPurge.Builder purge = OutboxPurge.builder()
                .connectionProvider(connections())
                .eventStore(store)
                .interval(cleaner.interval())
                .retention(cleaner.retention());
        cleaner.deadRetention().ifPresent(purge::deadRetention);
        if (settings.server().metricsPath().isPresent()) {
            purge.metrics(meters.of(Target.label(pool, table), new OutboxAdmin(connections(), store), null));
        }
        return purge.build();
    }

    private ConnectionProvider connections() {
        return pool::getConnection;
    }

    /** Returns the health from memory; background threads query the database. */
    private HealthServer.Health health() {
        boolean isReached = database.sinceSuccess().compareTo(UNREACHED_AFTER) < 0;
        boolean isUp = isReached;
        Map<String, Object> reports = new LinkedHashMap<>();
        for (Map.Entry<String, TableHealth> table : tables.entrySet()) {
            TableHealth.Report report = table.getValue().report();
            isUp &= report.isUp();
            reports.put(table.getKey(), report.fields());
        }
        if (!settings.delivery().enabled()) {
            settings.delivery().tables().forEach(table -> reports.put(table, Map.of("role", "off")));
        }
        return new HealthServer.Health(
                isUp,
                Json.line(new Answer()
                        .with("status", isUp ? "UP" : "DOWN")
                        .with("database", isReached ? "reached" : "not reached")
                        .with("tables", reports)
                        .map()));
    }

    private boolean askDatabase() throws SQLException {
        try (Connection connection = pool.getConnection()) {
            if (connection.isValid(2)) {
                return true;
            }
        }
        throw new SQLException("The database does not answer");
    }

    int port() {
        return server == null ? 0 : server.port();
    }

    /** Takes no more events, waits up to the drain time for running deliveries, and closes everything. */
    @Override
    public void close() {
        closeRelays();
        for (int i = others.size() - 1; i >= 0; i--) {
            close(others.get(i));
        }
        if (server != null) {
            server.close();
        }
    }

    /** Closes all relays in parallel: each may use the whole drain time. */
    private void closeRelays() {
        CompletableFuture.allOf(relays.values().stream()
                        .map(relay -> CompletableFuture.runAsync(
                                () -> close(relay), task -> new Thread(task, "outbox-relay-close").start()))
                        .toArray(CompletableFuture<?>[]::new))
                .join();
    }

    private static void close(AutoCloseable part) {
        try {
            part.close();
        } catch (Exception e) {
            LOG.log(Level.WARNING, "Cannot close " + part, e);
        }
    }

    @Override
    public String toString() {
        return (relays.isEmpty() ? "delivers nothing" : "delivers " + String.join(", ", relays.keySet()))
                + (settings.cleaner().enabled()
                        ? ", purges " + String.join(", ", settings.cleaner().tables())
                        : "")
                + ", database " + settings.database()
                + ", health at http://" + settings.server().bind().getHostString() + ":" + port() + "/health";
    }
}
