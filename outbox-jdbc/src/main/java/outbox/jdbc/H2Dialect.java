package outbox.jdbc;

import java.util.List;
import java.util.Locale;

/**
 * H2, with the claim statements for any database. Use it on a single node and in tests: H2 locks more rows than
 * it returns.
 */
final class H2Dialect extends Dialect {

    @Override
    public String name() {
        return "h2";
    }

    @Override
    public List<String> jdbcUrlPrefixes() {
        return List.of("jdbc:h2:");
    }

    /**
     * Computes local time in UTC from the seconds since 1970. A cast from a time with zone would use the time zone
     * of the session.
     */
    @Override
    public String nowSql(boolean zoned) {
        return zoned ? "CURRENT_TIMESTAMP(6)" : inUtc("CURRENT_TIMESTAMP(6)");
    }

    /**
     * {@code CURRENT_TIMESTAMP} does not advance within a transaction, but the start time of the current
     * statement does.
     */
    @Override
    public String clockSql() {
        return "SELECT " + inUtc("executing_statement_start")
                + " FROM information_schema.sessions WHERE session_id = SESSION_ID()";
    }

    private static String inUtc(String zoned) {
        return "DATEADD(MICROSECOND, CAST(EXTRACT(EPOCH FROM " + zoned
                + ") * 1000000 AS BIGINT), TIMESTAMP '1970-01-01 00:00:00')";
    }

    /** H2 stores unquoted names in upper case. */
    @Override
    public String quoted(String name) {
        return super.quoted(name.toUpperCase(Locale.ROOT));
    }

    @Override
    public String lockCandidates() {
        return "FOR UPDATE SKIP LOCKED";
    }

    /** Without FORMAT JSON, a text becomes a JSON string instead of the object that it contains. */
    @Override
    public String jsonParameter(String columnType) {
        return columnType.equals("json") ? "? FORMAT JSON" : "?";
    }

    /** H2 does not report the size of JSON, and it has the value in memory anyway. */
    @Override
    public String byteSize(String column, String type) {
        return type.equals("json") ? "0" : super.byteSize(column, type);
    }

    @Override
    AbstractJdbcEventStore newStore(String table) {
        return new H2EventStore(table);
    }
}
