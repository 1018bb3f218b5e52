package outbox.testing.server;

import org.opentest4j.TestAbortedException;
import outbox.testing.internal.JdbcUrl;
import outbox.testing.internal.Unavailable;

import java.util.Locale;
import java.util.Optional;

/** The database products that the harness supports, with their names, drivers and URLs. */
enum Product {
    POSTGRESQL(
            "PostgreSQL",
            "postgres",
            "org.postgresql:postgresql",
            "jdbc:postgresql://127.0.0.1:%d/postgres?user=postgres"),
    MARIADB("MariaDB", "mariadb", "org.mariadb.jdbc:mariadb-java-client", "jdbc:mariadb://127.0.0.1:%d/test?user=root"),
    MYSQL(
            "MySQL",
            "mysql",
            "com.mysql:mysql-connector-j",
            "jdbc:mysql://127.0.0.1:%d/test?user=root&allowPublicKeyRetrieval=true&sslMode=DISABLED");

    private final String title;
    private final String id;
    private final String driver;
    private final String urlFormat;

    Product(String title, String id, String driver, String urlFormat) {
        this.title = title;
        this.id = id;
        this.driver = driver;
        this.urlFormat = urlFormat;
    }

    /** Returns the official name, for messages. */
    String title() {
        return title;
    }

    /** Returns the name used in directories, threads and properties. */
    String id() {
        return id;
    }

    /** Returns the Maven coordinates of the JDBC driver. */
    String driver() {
        return driver;
    }

    /** Returns the URL of a server that we started on this port. */
    JdbcUrl localUrl(int port) {
        return JdbcUrl.parse(urlFormat.formatted(port));
    }

    /** Returns the environment variable that names a server to use instead of starting one. */
    String urlVariable() {
        return "OUTBOX_%s_URL".formatted(id.toUpperCase(Locale.ROOT));
    }

    /**
     * Returns the URL of the server to use instead of starting one, if a property or environment variable names it.
     */
    Optional<JdbcUrl> givenUrl() {
        var property = System.getProperty("outbox.%s.url".formatted(id));
        var url = property != null ? property : System.getenv(urlVariable());
        return Optional.ofNullable(url).filter(text -> !text.isBlank()).map(JdbcUrl::parse);
    }

    /**
     * Returns the exception that skips the test because there is no server of this product. Throws a failure instead
     * if servers are required.
     */
    TestAbortedException unavailable(String missing, String remedy) {
        return Unavailable.because(
                title, missing, "%s, or set %s to the JDBC URL of a running server".formatted(remedy, urlVariable()));
    }
}
