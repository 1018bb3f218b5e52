package outbox.jdbc;

import org.jspecify.annotations.Nullable;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.sql.DataSource;

/**
 * Finds the store for a database. It supports H2, MySQL with MariaDB, PostgreSQL, and each {@link Dialect} that is
 * registered for {@link ServiceLoader}. Registered dialects take precedence.
 */
public final class JdbcEventStores {

    private JdbcEventStores() {}

    /** Creates a store for each known database, on the default table. */
    public static List<AbstractJdbcEventStore> all() {
        return dialects()
                .map(dialect -> dialect.newStore(AbstractJdbcEventStore.DEFAULT_TABLE))
                .toList();
    }

    /** Returns the store with the given name, which is not case-sensitive, on the default table. */
    public static AbstractJdbcEventStore get(String name) {
        return get(name, AbstractJdbcEventStore.DEFAULT_TABLE);
    }

    /** Returns the store with the given name, which is not case-sensitive, on the given table. */
    public static AbstractJdbcEventStore get(String name, String table) {
        String wanted = name.toLowerCase(Locale.ROOT);
        return find(dialect -> dialect.name().equals(wanted))
                .orElseThrow(
                        () -> new IllegalArgumentException("Unknown event store '" + name + "'; known: " + known()))
                .newStore(table);
    }

    /**
     * Returns the store for the database of the data source, on the default table. The database is detected by the
     * JDBC URL or, if a driver wraps another one, by the product name.
     */
    public static AbstractJdbcEventStore detect(DataSource dataSource) {
        return detect(dataSource, AbstractJdbcEventStore.DEFAULT_TABLE);
    }

    /** Returns the store for the database of the data source, on the given table. */
    public static AbstractJdbcEventStore detect(DataSource dataSource, String table) {
        return dialect(dataSource).newStore(table);
    }

    /** Returns the store for databases with this JDBC URL, on the default table. */
    public static AbstractJdbcEventStore detect(@Nullable String url) {
        if (url == null) {
            throw new IllegalArgumentException("The JDBC URL is null");
        }
        return byUrl(url).orElseThrow(() -> notFound(url)).newStore(AbstractJdbcEventStore.DEFAULT_TABLE);
    }

    static Dialect dialect(DataSource dataSource) {
        try (Connection connection = dataSource.getConnection()) {
            return dialect(connection);
        } catch (SQLException e) {
            throw new EventStoreException("Cannot ask the data source what database it is: " + e.getMessage(), e);
        }
    }

    static Dialect dialect(Connection connection) throws SQLException {
        DatabaseMetaData database = connection.getMetaData();
        String url = database.getURL() == null ? "" : database.getURL();
        Optional<Dialect> found = byUrl(url);
        if (found.isEmpty()) {
            String product = database.getDatabaseProductName().toLowerCase(Locale.ROOT);
            found = find(dialect -> dialect.productNames().contains(product));
        }
        return found.orElseThrow(() -> notFound(url));
    }

    private static Optional<Dialect> byUrl(String url) {
        String lower = url.toLowerCase(Locale.ROOT);
        return find(dialect -> dialect.jdbcUrlPrefixes().stream().anyMatch(lower::startsWith));
    }

    private static Optional<Dialect> find(Predicate<Dialect> condition) {
        return dialects().filter(condition).findFirst();
    }

    private static Stream<Dialect> dialects() {
        return Stream.concat(
                ServiceLoader.load(Dialect.class, Dialect.class.getClassLoader()).stream()
                        .map(ServiceLoader.Provider::get),
                Stream.of(new H2Dialect(), new MySqlDialect(), new PostgresDialect()));
    }

    /** The message contains only the scheme of the URL, because the rest may contain a password. */
    private static IllegalArgumentException notFound(String url) {
        String scheme = url.replaceAll("^((?:jdbc:)?[A-Za-z0-9+.-]*:?).*", "$1");
        return new IllegalArgumentException(
                "No event store found for a database with the URL " + scheme + "…; known: " + known());
    }

    private static String known() {
        return dialects().map(Dialect::name).collect(Collectors.joining(", "));
    }
}
