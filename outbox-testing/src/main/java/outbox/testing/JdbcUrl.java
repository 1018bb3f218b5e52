package outbox.testing;

import java.util.regex.Pattern;

/** A JDBC URL of the form {@code jdbc:product://host:port/database?parameters}, taken apart where tests change it. */
record JdbcUrl(String product, String host, int port, String database, String parameters) {
    private static final Pattern FORM = Pattern.compile(
            "(?<product>jdbc:[a-z]+)://(?<host>[^/:,]+):(?<port>\\d+)/(?<database>[^?]*)(?<parameters>\\?.*)?");

    static JdbcUrl parse(String url) {
        var parts = FORM.matcher(url);
        if (!parts.matches()) {
            // Only the part before the parameters: they may hold a password.
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

    JdbcUrl withDatabase(String other) {
        return new JdbcUrl(product, host, port, other, parameters);
    }

    JdbcUrl withAddress(String otherHost, int otherPort) {
        return new JdbcUrl(product, otherHost, otherPort, database, parameters);
    }

    /** The URL for messages, without parameters, which may hold a password. */
    String withoutParameters() {
        return "%s://%s:%d/%s".formatted(product, host, port, database);
    }

    /** The whole URL, as drivers want it. */
    @Override
    public String toString() {
        return withoutParameters() + parameters;
    }
}
