package acme;

import outbox.jdbc.Dialect;

import java.util.List;
import java.util.Locale;

/**
 * A third-party dialect that is registered as a service. Its database is really H2 under another name: it uses the
 * DDL of H2 and some of its URLs.
 */
public final class AcmeDialect extends Dialect {

    @Override
    public String name() {
        return "acme";
    }

    @Override
    public List<String> jdbcUrlPrefixes() {
        return List.of("jdbc:h2:mem:acme", "jdbc:acme:");
    }

    @Override
    public String schemaName() {
        return "h2";
    }

    @Override
    public String nowSql(boolean zoned) {
        return zoned
                ? "CURRENT_TIMESTAMP(6)"
                : "DATEADD(MICROSECOND, CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) * 1000000 AS BIGINT),"
                        + " TIMESTAMP '1970-01-01 00:00:00')";
    }

    @Override
    public String clockSql() {
        return "SELECT DATEADD(MICROSECOND, CAST(EXTRACT(EPOCH FROM executing_statement_start) * 1000000 AS BIGINT),"
                + " TIMESTAMP '1970-01-01 00:00:00') FROM information_schema.sessions WHERE session_id = SESSION_ID()";
    }

    @Override
    public String quoted(String name) {
        return super.quoted(name.toUpperCase(Locale.ROOT));
    }

    @Override
    public String lockCandidates() {
        return "FOR UPDATE SKIP LOCKED";
    }
}
