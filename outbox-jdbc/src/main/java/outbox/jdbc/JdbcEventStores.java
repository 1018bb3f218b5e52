package outbox.jdbc;

import org.jspecify.annotations.Nullable;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.stream.Collectors;
import javax.sql.DataSource;

/** Finds the store for a database. Stores of your own join by {@link ServiceLoader}, as services of {@link AbstractJdbcEventStore}. */
public final class JdbcEventStores {

    private JdbcEventStores() {}

    /** A new instance of every known store, on the default table. */
    public static List<AbstractJdbcEventStore> all() {
        return ServiceLoader.load(AbstractJdbcEventStore.class, AbstractJdbcEventStore.class.getClassLoader()).stream()
                .map(ServiceLoader.Provider::get)
                .toList();
    }

    /** The store with the given name, in upper or lower case. */
    public static AbstractJdbcEventStore get(String name) {
        String wanted = name.toLowerCase(Locale.ROOT);
        return all().stream()
                .filter(store -> store.name().equals(wanted))
                .findFirst()
                .orElseThrow(
                        () -> new IllegalArgumentException("Unknown event store '" + name + "'; known: " + known()));
    }

    /** The store for the database behind the data source, told by its URL or, behind a wrapping driver, by the product's name. */
    public static AbstractJdbcEventStore detect(DataSource dataSource) {
        try (Connection connection = dataSource.getConnection()) {
            return detect(connection);
        } catch (SQLException e) {
            throw new EventStoreException("Cannot ask the data source what database it is: " + e.getMessage(), e);
        }
    }

    /** The store for the database behind the data source, on the given table. Stores of your own know their table themselves: for another one they are refused. */
    public static AbstractJdbcEventStore detect(DataSource dataSource, String table) {
        AbstractJdbcEventStore found = detect(dataSource);
        return switch (found.name()) {
            case "postgresql" -> new PostgresEventStore(table);
            case "mysql" -> new MySqlEventStore(table);
            case "h2" -> new H2EventStore(table);
            default -> {
                if (!found.table().value().equals(table)) {
                    throw new IllegalArgumentException("The store " + found.name() + " is for table " + found.table()
                            + ", not for " + table + ". Make one for that table yourself.");
                }
                yield found;
            }
        };
    }

    static AbstractJdbcEventStore detect(Connection connection) throws SQLException {
        DatabaseMetaData database = connection.getMetaData();
        String url = database.getURL() == null ? "" : database.getURL();
        return find(url)
                .or(() -> productName(database)
                        .flatMap(product -> all().stream()
                                .filter(store -> store.name().equals(product))
                                .findFirst()))
                .orElseThrow(() -> notFound(url));
    }

    /** The store for databases with this JDBC URL. */
    public static AbstractJdbcEventStore detect(@Nullable String url) {
        if (url == null) {
            throw new IllegalArgumentException("The JDBC URL is null");
        }
        return find(url).orElseThrow(() -> notFound(url));
    }

    private static Optional<AbstractJdbcEventStore> find(String url) {
        String lower = url.toLowerCase(Locale.ROOT);
        return all().stream()
                .filter(store -> store.jdbcUrlPrefixes().stream().anyMatch(lower::startsWith))
                .findFirst();
    }

    private static Optional<String> productName(DatabaseMetaData database) {
        try {
            String product = database.getDatabaseProductName().toLowerCase(Locale.ROOT);
            return Optional.of(product.equals("mariadb") || product.equals("tidb") ? "mysql" : product);
        } catch (SQLException e) {
            throw new EventStoreException("Cannot read the name of the database: " + e.getMessage(), e);
        }
    }

    /** Names no more of the URL than its scheme: the rest may hold a password. */
    private static IllegalArgumentException notFound(String url) {
        String scheme = url.replaceAll("^((?:jdbc:)?[A-Za-z0-9+.-]*:?).*", "$1");
        return new IllegalArgumentException(
                "No event store found for a database with the URL " + scheme + "…; known: " + known());
    }

    private static String known() {
        return all().stream().map(AbstractJdbcEventStore::name).collect(Collectors.joining(", "));
    }
}
