package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.PrintableText;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.TableName;

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
 * The database of the command, reached through its JDBC driver without a pool. A command needs one connection at a
 * time, and must see the connection as the driver and the server configure it. Thread-safe.
 */
final class Database implements DataSource {

    private static final String MYSQL = "jdbc:mysql:";
    private static final String MARIADB = "jdbc:mariadb:";

    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(10);
    private static final Duration SHORTEST = Duration.ofSeconds(1);
    private static final Duration LONGEST = Duration.ofHours(24);
    private static final Duration SILENCE = Duration.ofMinutes(1); // longer than a relay waits for any statement
    private static final Duration AFTER_LIMIT = Duration.ofSeconds(5); // so that the statement timeout comes first

    private final String url;
    private final @Nullable String user;
    private final @Nullable String password;

    private final Duration connectLimit;
    private final @Nullable Duration limit; // of every statement; null if the caller has its own limits

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

    /** Returns the same database with a time limit for every statement. */
    Database within(Duration newLimit) {
        Duration connect = newLimit.compareTo(CONNECT_LIMIT) < 0 ? newLimit : CONNECT_LIMIT;
        return new Database(url, user, password, connect, newLimit);
    }

    /** The configured time limit; empty if there is none. */
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

    /** Returns null if the settings have problems; these have been added to the settings. */
    static @Nullable Database of(Settings settings, Secrets secrets) {
        settings.text(Setting.JDBC_URL).ifPresent(secrets::addUrl); // even if it is refused below
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
        secrets.addUrl(url); // the URL as passed to the driver
        Duration connect = timeout(settings)
                .filter(span -> span.compareTo(CONNECT_LIMIT) < 0)
                .orElse(CONNECT_LIMIT);
        return new Database(url, user, password, connect, null);
    }

    /**
     * Refuses a URL with a password before any driver sees it. The password of the database user has its own
     * settings. The password of a key store has none: it is allowed in a URL from the environment or the file, but
     * not in an argument, because other users can read arguments.
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

    /** Whether a URL has parameters or a user, and so may contain a password. */
    static boolean mayHoldSecret(String url) {
        return url.matches(".*[?;&].*|.*@.*");
    }

    /**
     * Returns the URL in a form that an available driver accepts. The driver of MariaDB also serves MySQL, but only
     * under a URL of MariaDB.
     */
    private static String withDriver(String url) {
        JdbcEventStores.detect(url); // refuses an unknown database and lists the known ones
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
            throw new IllegalArgumentException( // the driver's message may quote the URL
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

    /** The name of the event store: h2, mysql, postgresql, or that of a dialect that was registered. */
    String product() {
        return JdbcEventStores.detect(url).name();
    }

    /** Checks and returns the name of a table of this database. */
    String table(String text) {
        return table(product(), text);
    }

    /**
     * Checks a table name and returns it as the database stores it. PostgreSQL folds unquoted names to lower case,
     * but the SQL of the library quotes names.
     */
    static String table(String product, String text) {
        String name = new TableName(text).value();
        return product.equals("postgresql") ? name.toLowerCase(Locale.ROOT) : name;
    }

    /** The event store for a table of layout EVENT in this database. */
    AbstractJdbcEventStore store(String table) {
        return JdbcEventStores.get(product(), table);
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

    /** Opens the connection that looks for blockers. */
    private Connection unlimited() throws SQLException {
        return new Database(url, user, password, SHORTEST, null).getConnection();
    }

    /**
     * Sets time limits as driver properties. Values in the URL have precedence, and drivers ignore properties that
     * they do not know.
     */
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

    /** The URL without the parts that may be secret. */
    @Override
    public String toString() {
        if (url.contains("(")) { // parameters inside the address
            return url.replaceAll("//.*", "//") + String.join(",", DatabaseHosts.of(url));
        }
        return url.replaceAll("[?;].*", "").replaceAll("//[^/@]*@", "//");
    }
}
