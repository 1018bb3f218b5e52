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
        return zoned
                ? "CURRENT_TIMESTAMP(6)"
                : "DATEADD(MICROSECOND, CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) * 1000000 AS BIGINT), TIMESTAMP '1970-01-01 00:00:00')";
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
}
