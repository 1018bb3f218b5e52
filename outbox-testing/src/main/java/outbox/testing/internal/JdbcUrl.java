package outbox.testing.internal;

import java.util.regex.Pattern;

/**
 * A JDBC URL of the form {@code jdbc:product://host:port/database?parameters}, split into the parts that
 * tests change.
 */
public record JdbcUrl(String product, String host, int port, String database, String parameters) {
    private static final Pattern FORM = Pattern.compile(
            "(?<product>jdbc:[a-z]+)://(?<host>[^/:,]+):(?<port>\\d+)/(?<database>[^?]*)(?<parameters>\\?.*)?");

    public static JdbcUrl parse(String url) {
        var parts = FORM.matcher(url);
        if (!parts.matches()) {
            // show only the part before the parameters, because they may contain a password
            throw new IllegalArgumentException("Not a URL of the form jdbc:product://host:port/database?parameters: "
                    + url.replaceFirst("\\?.*", "?…"));
        }
        var parameters = parts.group("parameters");
        return new JdbcUrl(
                parts.group("product"),
                parts.group("host"),
                Integer.parseInt(parts.group("port")),
                parts.group("database"),
                parameters == null ? "" : parameters);
    }

    public JdbcUrl withDatabase(String other) {
        return new JdbcUrl(product, host, port, other, parameters);
    }

    public JdbcUrl withAddress(String otherHost, int otherPort) {
        return new JdbcUrl(product, otherHost, otherPort, database, parameters);
    }

    /** Returns the URL for messages, without the parameters, because they may contain a password. */
    public String withoutParameters() {
        return "%s://%s:%d/%s".formatted(product, host, port, database);
    }

    /** Returns the complete URL for the driver. */
    @Override
    public String toString() {
        return withoutParameters() + parameters;
    }
}
