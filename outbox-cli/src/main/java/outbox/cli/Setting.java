package outbox.cli;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.Optional;

/**
 * All settings. A setting has one name, used in the environment and in the file, and a flag unless it is a secret.
 */
enum Setting {
    JDBC_URL("OUTBOX_JDBC_URL", "--url", "URL", null, "JDBC URL of the database"),
    JDBC_USER("OUTBOX_JDBC_USER", "--user", "NAME", null, "user of the database"),
    JDBC_PASSWORD("OUTBOX_JDBC_PASSWORD", null, "PASSWORD", null, "its password"),
    JDBC_PASSWORD_FILE("OUTBOX_JDBC_PASSWORD_FILE", "--password-file", "FILE", null, "file with its password"),
    JDBC_TIMEOUT(
            "OUTBOX_JDBC_TIMEOUT",
            "--timeout",
            "TIME",
            null,
            "how long to wait for the database; 30s, for schema apply 10m; of relay only for a connection"),
    ALLOW_HOST(
            "OUTBOX_ALLOW_HOST",
            "--allow-host",
            "HOST",
            null,
            "hosts, by commas, whose databases may be changed though they are not on this machine"),

    RELAY_ENABLED("OUTBOX_RELAY_ENABLED", "--relay-enabled", "BOOL", "true", "whether events are delivered at all"),
    RELAY_TABLES("OUTBOX_RELAY_TABLES", "--tables", "TABLES", null, "tables to relay, separated by commas"),
    RELAY_SINGLE_ACTIVE(
            "OUTBOX_RELAY_SINGLE_ACTIVE", "--single-active", "BOOL", "true", "one leader per table, or shared claims"),
    RELAY_POLL_INTERVAL("OUTBOX_RELAY_POLL_INTERVAL", "--poll-interval", "TIME", "1s", "pause of an idle relay"),
    RELAY_BATCH_SIZE("OUTBOX_RELAY_BATCH_SIZE", "--batch-size", "N", "100", "events per claim"),
    RELAY_LOCK_TTL("OUTBOX_RELAY_LOCK_TTL", "--lock-ttl", "TIME", "60s", "lease of a claim"),
    RELAY_DATABASE_TIMEOUT(
            "OUTBOX_RELAY_DATABASE_TIMEOUT",
            "--database-timeout",
            "TIME",
            null,
            "how long to wait for an answer of the database; 5s, at most half the lease"),
    RELAY_MAX_ATTEMPTS("OUTBOX_RELAY_MAX_ATTEMPTS", "--max-attempts", "N", "25", "attempts before an event is dead"),
    RELAY_DISPATCH_TIMEOUT(
            "OUTBOX_RELAY_DISPATCH_TIMEOUT", "--dispatch-timeout", "TIME", "30s", "time limit of one delivery"),
    RELAY_DRAIN_TIME(
            "OUTBOX_RELAY_DRAIN_TIME", "--drain-time", "TIME", "30s", "how long a stop waits for what is under way"),
    LAST_ERROR_MAX_BYTES(
            "OUTBOX_LAST_ERROR_MAX_BYTES", "--last-error-max-bytes", "N", "2048", "how much of an error is kept"),

    CLEANER_ENABLED("OUTBOX_CLEANER_ENABLED", "--cleaner-enabled", "BOOL", "true", "whether old events are purged"),
    CLEANER_TABLES(
            "OUTBOX_CLEANER_TABLES", "--cleaner-tables", "TABLES", null, "tables to purge; those that are relayed"),
    CLEANER_INTERVAL("OUTBOX_CLEANER_INTERVAL", "--cleaner-interval", "TIME", "1m", "pause between two purges"),
    CLEANER_RETENTION(
            "OUTBOX_CLEANER_RETENTION", "--cleaner-retention", "TIME", "168h", "how long delivered events are kept"),
    CLEANER_DEAD_RETENTION(
            "OUTBOX_CLEANER_DEAD_RETENTION",
            "--cleaner-dead-retention",
            "TIME",
            "0",
            "how long dead events are kept; 0 keeps them for ever"),

    TRANSPORT("OUTBOX_RELAY_TRANSPORT", "--transport", "NAME", "http", "where events go: http, rabbitmq or stdout"),
    HTTP_ENDPOINT("OUTBOX_HTTP_ENDPOINT", "--http-endpoint", "URL", null, "where the http transport posts events"),
    HTTP_SECRET("OUTBOX_HTTP_SECRET", null, "SECRET", null, "key of the HMAC signature"),
    HTTP_SECRET_FILE("OUTBOX_HTTP_SECRET_FILE", "--http-secret-file", "FILE", null, "file with that key"),
    HTTP_AUTHORIZATION(
            "OUTBOX_HTTP_AUTHORIZATION", null, "VALUE", null, "header Authorization of requests, as in Bearer TOKEN"),
    HTTP_AUTHORIZATION_FILE(
            "OUTBOX_HTTP_AUTHORIZATION_FILE",
            "--http-authorization-file",
            "FILE",
            null,
            "file with that value, which may be renewed while the relay runs"),

    LOG_FORMAT("OUTBOX_LOG_FORMAT", "--log-format", "FORMAT", "text", "how log lines are written: text or json"),

    AMQP_URI(
            "OUTBOX_AMQP_URI",
            "--amqp-uri",
            "URI",
            null,
            "where the broker is, as amqp://host:5672/vhost; the variable may hold user and password"),
    AMQP_USER("OUTBOX_AMQP_USER", "--amqp-user", "NAME", null, "user of the broker"),
    AMQP_PASSWORD("OUTBOX_AMQP_PASSWORD", null, "PASSWORD", null, "its password"),
    AMQP_PASSWORD_FILE("OUTBOX_AMQP_PASSWORD_FILE", "--amqp-password-file", "FILE", null, "file with its password"),
    AMQP_EXCHANGE(
            "OUTBOX_AMQP_EXCHANGE",
            "--amqp-exchange",
            "NAME",
            null,
            "exchange that the rabbitmq transport publishes to, by the event type as routing key"),

    SERVER_BIND("OUTBOX_SERVER_BIND", "--bind", "HOST:PORT", "127.0.0.1:9470", "where /health and metrics are served"),
    SERVER_TOKEN("OUTBOX_SERVER_TOKEN", null, "TOKEN", null, "bearer token that requests must have"),
    SERVER_TOKEN_FILE("OUTBOX_SERVER_TOKEN_FILE", "--server-token-file", "FILE", null, "file with that token"),
    HEALTH_MAX_SILENCE(
            "OUTBOX_HEALTH_MAX_SILENCE",
            "--health-max-silence",
            "TIME",
            null,
            "how long a table may be without a successful look until /health is DOWN; 30s, or five poll intervals"),
    METRICS_ENABLED("PROMETHEUS_METRICS_ENABLED", "--metrics-enabled", "BOOL", "false", "whether metrics are served"),
    METRICS_PATH("PROMETHEUS_METRICS_PATH", "--metrics-path", "PATH", "/debug/prometheus", "where metrics are served");

    private final String key;
    private final @Nullable String flag;
    private final String label;
    private final @Nullable String standard;
    private final String meaning;

    Setting(String key, @Nullable String flag, String label, @Nullable String standard, String meaning) {
        this.key = key;
        this.flag = flag;
        this.label = label;
        this.standard = standard;
        this.meaning = meaning;
    }

    /** The name in the environment and in the file. */
    String key() {
        return key;
    }

    /** The flag; empty for secrets, because other users can read the arguments of a process. */
    Optional<String> flag() {
        return Optional.ofNullable(flag);
    }

    String label() {
        return label;
    }

    Optional<String> standard() {
        return Optional.ofNullable(standard);
    }

    String meaning() {
        return meaning;
    }

    static Optional<Setting> of(String key) {
        return Arrays.stream(values())
                .filter(setting -> setting.key.equals(key))
                .findFirst();
    }
}
