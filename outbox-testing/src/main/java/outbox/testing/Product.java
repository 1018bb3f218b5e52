package outbox.testing;

import java.util.Locale;
import java.util.Optional;

/** The database products the harness knows, as seen from outside: names, drivers and URLs. */
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

    /** The name as its makers write it, for messages. */
    String title() {
        return title;
    }

    /** The name in directories, threads and properties. */
    String id() {
        return id;
    }

    /** The Maven coordinates of the JDBC driver. */
    String driver() {
        return driver;
    }

    /** The address of a server that we started on this port. */
    JdbcUrl localUrl(int port) {
        return JdbcUrl.parse(urlFormat.formatted(port));
    }

    /** The environment variable that names a server to use instead of starting one. */
    String urlVariable() {
        return "OUTBOX_%s_URL".formatted(id.toUpperCase(Locale.ROOT));
    }

    /** The server to use instead of starting one, if somebody named it by property or environment. */
    Optional<JdbcUrl> givenUrl() {
        var property = System.getProperty("outbox.%s.url".formatted(id));
        var url = property != null ? property : System.getenv(urlVariable());
        return Optional.ofNullable(url).filter(text -> !text.isBlank()).map(JdbcUrl::parse);
    }
}
