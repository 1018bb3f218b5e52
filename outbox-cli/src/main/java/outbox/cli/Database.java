package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.H2EventStore;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.MySqlEventStore;
import outbox.jdbc.PostgresEventStore;
import outbox.jdbc.TableName;
import outbox.spi.PrintableText;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.Properties;
import java.util.logging.Logger;
import javax.sql.DataSource;

/**
 * The database that the command works on, reached by its driver without a pool: a command needs one connection at a time, and sees it as the driver and the server set it up. Thread-safe.
 */
final class Database implements DataSource {

    private static final String MYSQL = "jdbc:mysql:";
    private static final String MARIADB = "jdbc:mariadb:";

    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(10);
    private static final Duration SHORTEST = Duration.ofSeconds(1);
    private static final Duration LONGEST = Duration.ofHours(24);
    private static final Duration SILENCE = Duration.ofMinutes(1); // longer than a relay waits for any answer
    private static final Duration AFTER_LIMIT = Duration.ofSeconds(5); // so that a statement is cancelled first

    private final String url;
    private final @Nullable String user;
    private final @Nullable String password;

    private final Duration connectLimit;
    private final @Nullable Duration limit; // of every statement; null if who uses it has limits of its own

    private Database(
            String url,
            @Nullable String user,
            @Nullable String password,
            Duration connectLimit,
            @Nullable Duration limit) {
        this.url = url;
        this.user = user;
        this.password = password;
        this.connectLimit = connectLimit;
        this.limit = limit;
    }

    /** The same database, whose every statement ends within this time. */
    Database within(Duration newLimit) {
        Duration connect = newLimit.compareTo(CONNECT_LIMIT) < 0 ? newLimit : CONNECT_LIMIT;
        return new Database(url, user, password, connect, newLimit);
    }

    /** What is set for it; empty if nothing is. */
    static Optional<Duration> timeout(Settings settings) {
        return settings.readOptional(Setting.JDBC_TIMEOUT, text -> {
            Duration span = Durations.parse(text);
            if (span.compareTo(SHORTEST) < 0 || span.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException(
                        "must be between 1s and 24h, but is '" + PrintableText.of(text) + "'");
            }
            return span;
        });
    }

    /** Null if the settings have problems; they have been told then. */
    static @Nullable Database of(Settings settings, Secrets secrets) {
        settings.text(Setting.JDBC_URL).ifPresent(secrets::addUrl); // also if it is refused
        boolean isArgument =
                settings.origin(Setting.JDBC_URL).equals(Setting.JDBC_URL.flag().orElse(""));
        String url = settings.read(Setting.JDBC_URL, text -> withDriver(withoutPassword(text, isArgument)));
        String user = settings.text(Setting.JDBC_USER).orElse(null);
        String password = settings.secret(Setting.JDBC_PASSWORD, Setting.JDBC_PASSWORD_FILE)
                .orElse(null);
        if (password != null) {
            secrets.add(password);
        }
        if (url == null) {
            return null;
        }
        secrets.addUrl(url); // as the driver gets it
        Duration connect = timeout(settings)
                .filter(span -> span.compareTo(CONNECT_LIMIT) < 0)
                .orElse(CONNECT_LIMIT);
        return new Database(url, user, password, connect, null);
    }

    /**
     * Refuses a URL with a password before any driver sees it. The one of the user has settings of its own. One of a
     * key store has not, and may stand in the environment or the file, but not in the arguments, which others can
     * read.
     */
    private static String withoutPassword(String url, boolean isArgument) {
        if (UrlPasswords.hasLogin(url) || isArgument && UrlPasswords.hasAny(url)) {
            throw new IllegalArgumentException("must not hold a password, which others could read or a driver could"
                    + " quote: put it into " + Setting.JDBC_PASSWORD.key() + ", or into a file for "
                    + Setting.JDBC_PASSWORD_FILE.flag().orElseThrow() + " or " + Setting.JDBC_PASSWORD_FILE.key()
                    + (UrlPasswords.hasLogin(url)
                            ? ""
                            : "; a URL with the password of a key store, into " + Setting.JDBC_URL.key()));
        }
        return url;
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
            throw new IllegalArgumentException( // without its message, which may quote the URL
                    "the driver " + driver.getClass().getName() + " refuses the URL", e);
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
        limits(properties);
        Duration statements = limit;
        Connection connection = DriverManager.getConnection(url, properties);
        return statements == null
                ? connection
                : LimitedConnection.of(connection, product(), statements, this::unlimited);
    }

    /** To look for what keeps another connection waiting. */
    private Connection unlimited() throws SQLException {
        return new Database(url, user, password, SHORTEST, null).getConnection();
    }

    /** What the URL says wins. A driver that does not know a name leaves it alone. */
    private void limits(Properties properties) {
        Duration silence = limit == null ? SILENCE : limit.plus(AFTER_LIMIT);
        boolean isPostgres = product().equals("postgresql");
        if (isPostgres) {
            properties.setProperty("connectTimeout", String.valueOf(connectLimit.toSeconds()));
            properties.setProperty("loginTimeout", String.valueOf(connectLimit.toSeconds()));
            properties.setProperty("socketTimeout", String.valueOf(silence.toSeconds()));
            properties.setProperty("cancelSignalTimeout", "3");
        } else if (product().equals("mysql")) {
            properties.setProperty("connectTimeout", String.valueOf(connectLimit.toMillis()));
            properties.setProperty("socketTimeout", String.valueOf(silence.toMillis()));
        }
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
        if (url.contains("(")) { // parameters inside of the address
            return url.replaceAll("//.*", "//") + String.join(",", DatabaseHosts.of(url));
        }
        return url.replaceAll("[?;].*", "").replaceAll("//[^/@]*@", "//");
    }
}
