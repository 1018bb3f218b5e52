package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.H2EventStore;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.MySqlEventStore;
import outbox.jdbc.PostgresEventStore;
import outbox.jdbc.TableName;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Locale;
import java.util.Properties;
import java.util.logging.Logger;
import javax.sql.DataSource;

/**
 * The database that the command works on, reached by its driver without a pool: a command needs one connection at a time, and sees it as the driver and the server set it up. Thread-safe.
 */
final class Database implements DataSource {

    private static final String MYSQL = "jdbc:mysql:";
    private static final String MARIADB = "jdbc:mariadb:";

    private final String url;
    private final @Nullable String user;
    private final @Nullable String password;

    private Database(String url, @Nullable String user, @Nullable String password) {
        this.url = url;
        this.user = user;
        this.password = password;
    }

    /** Null if the settings have problems; they have been told then. */
    static @Nullable Database of(Settings settings, Secrets secrets) {
        String url = settings.read(Setting.JDBC_URL, Database::withDriver);
        String user = settings.text(Setting.JDBC_USER).orElse(null);
        String password = settings.secret(Setting.JDBC_PASSWORD, Setting.JDBC_PASSWORD_FILE)
                .orElse(null);
        if (password != null) {
            secrets.add(password);
        }
        if (url == null) {
            return null;
        }
        if (mayHoldSecret(url)) {
            secrets.add(url);
        }
        return new Database(url, user, password);
    }

    /** Whether a URL has parameters, or a user, so that it may hold a password. */
    static boolean mayHoldSecret(String url) {
        return url.matches(".*[?;&].*|.*@.*");
    }

    /** The URL by which one of our drivers takes it: MariaDB's serves MySQL, but not under its name. */
    private static String withDriver(String url) {
        JdbcEventStores.detect(url); // refuses an unknown database, with the known ones
        if (hasDriver(url)) {
            return url;
        }
        String other = url.startsWith(MYSQL) ? MARIADB + url.substring(MYSQL.length()) : url;
        if (hasDriver(other)) {
            return other;
        }
        throw new IllegalArgumentException("no JDBC driver takes this URL; put the driver of the database on the class"
                + " path: java -cp outbox.jar:driver.jar outbox.cli.Main");
    }

    private static boolean hasDriver(String url) {
        return DriverManager.drivers().anyMatch(driver -> accepts(driver, url));
    }

    private static boolean accepts(Driver driver, String url) {
        try {
            return driver.acceptsURL(url);
        } catch (SQLException e) {
            throw new IllegalArgumentException("the driver refuses the URL: " + e.getMessage(), e);
        }
    }

    String url() {
        return url;
    }

    @Nullable
    String user() {
        return user;
    }

    @Nullable
    String password() {
        return password;
    }

    /** The name of its store: h2, mysql or postgresql. */
    String product() {
        return JdbcEventStores.detect(url).name();
    }

    /** The checked name of a table of this database. */
    String table(String text) {
        return table(product(), text);
    }

    /** The checked name of a table, as the database keeps it: PostgreSQL folds what is not in quotes, and the library's own SQL has quotes. */
    static String table(String product, String text) {
        String name = new TableName(text).value();
        return product.equals("postgresql") ? name.toLowerCase(Locale.ROOT) : name;
    }

    /** The store for a table of this database that is of the shipped kind. */
    AbstractJdbcEventStore store(String table) {
        return store(product(), table);
    }

    /** The store with this name, for the given table. */
    static AbstractJdbcEventStore store(String name, String table) {
        return switch (JdbcEventStores.get(name).name()) {
            case "h2" -> new H2EventStore(table);
            case "mysql" -> new MySqlEventStore(table);
            case "postgresql" -> new PostgresEventStore(table);
            default ->
                throw new SettingsException(
                        "The command does not know the event store '" + name + "'; it knows h2, mysql and postgresql.");
        };
    }

    @Override
    public Connection getConnection() throws SQLException {
        Properties properties = new Properties();
        if (user != null) {
            properties.setProperty("user", user);
        }
        if (password != null) {
            properties.setProperty("password", password);
        }
        return DriverManager.getConnection(url, properties);
    }

    @Override
    public Connection getConnection(String otherUser, String otherPassword) throws SQLException {
        throw new SQLFeatureNotSupportedException("The user is a setting");
    }

    @Override
    public @Nullable PrintWriter getLogWriter() {
        return null;
    }

    @Override
    public void setLogWriter(PrintWriter out) throws SQLException {
        throw new SQLFeatureNotSupportedException();
    }

    @Override
    public void setLoginTimeout(int seconds) throws SQLException {
        throw new SQLFeatureNotSupportedException();
    }

    @Override
    public int getLoginTimeout() {
        return 0;
    }

    @Override
    public Logger getParentLogger() throws SQLFeatureNotSupportedException {
        throw new SQLFeatureNotSupportedException();
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        throw new SQLException("Not a wrapper of " + type);
    }

    @Override
    public boolean isWrapperFor(Class<?> type) {
        return false;
    }

    /** The URL without what may be secret. */
    @Override
    public String toString() {
        return url.replaceAll("[?;].*", "").replaceAll("//[^/@]*@", "//");
    }
}
