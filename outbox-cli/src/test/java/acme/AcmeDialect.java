package acme;

import outbox.jdbc.Dialect;

import java.util.List;

/** A dialect of somebody else, registered as a service, for a database that is H2 in disguise. */
public final class AcmeDialect extends Dialect {

    @Override
    public String name() {
        return "acme";
    }

    @Override
    public List<String> jdbcUrlPrefixes() {
        return List.of("jdbc:h2:mem:acme");
    }

    @Override
    public String schemaName() {
        return "h2";
    }

    @Override
    public String nowSql(boolean zoned) {
        return zoned ? "CURRENT_TIMESTAMP(6)" : "CAST(CURRENT_TIMESTAMP(6) AT TIME ZONE 'UTC' AS TIMESTAMP(6))";
    }
}
