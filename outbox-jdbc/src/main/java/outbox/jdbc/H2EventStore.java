package outbox.jdbc;

import java.util.List;

/** H2, with the claim that all databases share. For a single node and for tests: H2 locks more rows than it returns. */
public final class H2EventStore extends AbstractJdbcEventStore {

    public H2EventStore() {
        this(DEFAULT_TABLE);
    }

    public H2EventStore(String tableName) {
        super(tableName);
    }

    @Override
    public String name() {
        return "h2";
    }

    @Override
    public List<String> jdbcUrlPrefixes() {
        return List.of("jdbc:h2:");
    }

    /** A cast from a time with zone would go through the session's time zone, so local time in UTC is counted from the epoch. */
    @Override
    protected String nowSql(boolean zoned) {
        return zoned ? "CURRENT_TIMESTAMP(6)" : inUtc("CURRENT_TIMESTAMP(6)");
    }

    /** {@code CURRENT_TIMESTAMP} stands still within a transaction, and a writer asks within that of its caller. The start of the running statement does not. */
    @Override
    String clockSql() {
        return "SELECT " + inUtc("executing_statement_start")
                + " FROM information_schema.sessions WHERE session_id = SESSION_ID()";
    }

    private static String inUtc(String zoned) {
        return "DATEADD(MICROSECOND, CAST(EXTRACT(EPOCH FROM " + zoned
                + ") * 1000000 AS BIGINT), TIMESTAMP '1970-01-01 00:00:00')";
    }

    @Override
    protected String lockCandidates() {
        return "FOR UPDATE SKIP LOCKED";
    }

    /** Without FORMAT JSON a text becomes a JSON string instead of the object it spells. */
    @Override
    protected String jsonParameter(String columnType) {
        return columnType.equals("json") ? "? FORMAT JSON" : "?";
    }

    /** The size of JSON is not known, and H2 has it in memory anyway. */
    @Override
    String byteSize(String column, String type) {
        return type.equals("json") ? "0" : super.byteSize(column, type);
    }
}
