package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.PrintableText;
import picocli.CommandLine.Option;

import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * The database and its tables, set by flags, by the environment, or by a file. There is no flag for the password,
 * because other users can read the arguments of a process.
 */
final class DatabaseOptions {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final Duration SCHEMA_TIMEOUT = Duration.ofMinutes(10);

    @Option(names = "--url", paramLabel = "URL", description = "JDBC URL; or OUTBOX_JDBC_URL")
    private @Nullable String url;

    @Option(names = "--user", paramLabel = "NAME", description = "database user; or OUTBOX_JDBC_USER")
    private @Nullable String user;

    @Option(
            names = "--password-env",
            paramLabel = "VARIABLE",
            description = "environment variable that holds the password; default OUTBOX_JDBC_PASSWORD")
    private @Nullable String passwordEnv;

    @Option(
            names = "--password-file",
            paramLabel = "FILE",
            description = "file whose first line is the password; or OUTBOX_JDBC_PASSWORD_FILE")
    private @Nullable Path passwordFile;

    @Option(
            names = "--config",
            paramLabel = "FILE",
            description = "properties file with the names of the environment; the environment and flags win over it")
    private @Nullable Path config;

    @Option(
            names = "--max-attempts",
            paramLabel = "N",
            description = "attempts from which an event of a module's table is dead, if the database does not know it;"
                    + " or OUTBOX_RELAY_MAX_ATTEMPTS; default 25")
    private @Nullable String maxAttempts;

    @Option(
            names = "--timeout",
            paramLabel = "TIME",
            description = "how long to wait for an answer of the database, 1s to 24h; or OUTBOX_JDBC_TIMEOUT; default"
                    + " 30s (schema apply: 10m)")
    private @Nullable String timeout;

    @Option(
            names = "--allow-host",
            paramLabel = "HOST",
            description = "lets a command change a database on this host, which is not this machine; several by commas;"
                    + " or OUTBOX_ALLOW_HOST")
    private @Nullable String allowHost;

    Settings settings(Io io) {
        return settings(io, Map.of());
    }

    Settings settings(Io io, Map<Setting, String> more) {
        Map<Setting, String> flags = new EnumMap<>(Setting.class);
        flags.putAll(more);
        put(flags, Setting.JDBC_URL, url);
        put(flags, Setting.JDBC_USER, user);
        put(flags, Setting.ALLOW_HOST, allowHost);
        put(flags, Setting.JDBC_TIMEOUT, timeout);
        put(flags, Setting.RELAY_MAX_ATTEMPTS, maxAttempts);
        put(flags, Setting.JDBC_PASSWORD_FILE, passwordFile == null ? null : passwordFile.toString());
        if (passwordEnv != null) {
            String password = io.environment().get(passwordEnv);
            if (password == null) {
                throw new SettingsException("--password-env: there is no environment variable " + passwordEnv
                        + ". Set it, or name the one that holds the password.");
            }
            put(flags, Setting.JDBC_PASSWORD, password);
        }
        return new Settings(flags, io.environment(), config);
    }

    /** The given flags, to be repeated in a printed command. A URL that may contain a password is omitted. */
    List<String> repeated() {
        List<String> words = new ArrayList<>();
        repeat(words, "--url", url == null || Database.mayHoldSecret(url) ? null : url);
        repeat(words, "--user", user);
        repeat(words, "--password-env", passwordEnv);
        repeat(words, "--password-file", passwordFile);
        repeat(words, "--config", config);
        repeat(words, "--max-attempts", maxAttempts);
        repeat(words, "--allow-host", allowHost);
        return words;
    }

    private static void repeat(List<String> words, String flag, @Nullable Object value) {
        if (value != null) {
            words.add(flag);
            words.add(value.toString());
        }
    }

    /** Whether the URL was given as a flag and {@link #repeated} omits it. */
    boolean hidesUrl() {
        return url != null && Database.mayHoldSecret(url);
    }

    private static void put(Map<Setting, String> flags, Setting setting, @Nullable String value) {
        if (value != null) {
            flags.put(setting, value);
        }
    }

    /** The database, for a command that needs no table. */
    Database database(Io io) {
        return database(io, TIMEOUT);
    }

    private Database database(Io io, Duration usual) {
        Settings settings = settings(io);
        Database database = Database.of(settings, io.secrets());
        Duration limit = Database.timeout(settings).orElse(usual);
        settings.check();
        return Objects.requireNonNull(database).within(limit);
    }

    /** The database, for a command that creates tables. Building an index may take long. */
    Database schemaDatabase(Io io) {
        Database database = database(io, SCHEMA_TIMEOUT);
        requireAllowed(io, database);
        return database;
    }

    /** The database, for a command that changes it. */
    Database changedDatabase(Io io) {
        Database database = database(io);
        requireAllowed(io, database);
        return database;
    }

    private void requireAllowed(Io io, Database database) {
        DatabaseHosts.requireAllowed(
                database.url(), settings(io).text(Setting.ALLOW_HOST).orElse(""));
    }

    /** An existing table, for a command that changes it. */
    Target changedTarget(Io io, String table) throws SQLException {
        return Target.of(changedDatabase(io), table, maxAttempts(io));
    }

    /** An existing table. */
    Target target(Io io, String table) throws SQLException {
        Target target = Target.of(database(io), table, maxAttempts(io));
        if (target.assumesMaxAttempts()) {
            io.warn(PrintableText.of(MaxAttempts.unknown(target.subject().table()) + ". Here it is taken as "
                    + target.subject().maxAttempts() + "."));
        }
        return target;
    }

    /** The number of attempts after which an event of a module's table is dead. */
    MaxAttempts maxAttempts(Io io) {
        Settings settings = settings(io);
        String key = Setting.RELAY_MAX_ATTEMPTS.key();
        Optional<outbox.relay.RelaySettings> read = outbox.relay.RelaySettings.read(
                Map.of(key, settings.text(Setting.RELAY_MAX_ATTEMPTS).orElse("")), settings::problem);
        settings.check();
        return settings.maxAttempts(read.orElseThrow().delivery().maxAttempts());
    }
}
