package outbox.jdbc;

import java.util.List;

/**
 * The 15-column table as printed in the specification, and its translations for databases that do not accept
 * that text.
 */
final class SpecificationTable {

    static final String INDEX = "CREATE INDEX idx_status_available ON outbox_event(status, available_at, created_at)";

    /** The text of the specification, unchanged. */
    static final List<String> TEXT = List.of(ddl("JSON", "TINYINT", "DATETIME(6)", "TEXT"), INDEX);

    static final List<String> CLOB_AND_TIMESTAMP = List.of(ddl("CLOB", "TINYINT", "TIMESTAMP", "CLOB"), INDEX);

    static final List<String> POSTGRES_WITHOUT_ZONE = List.of(ddl("JSONB", "SMALLINT", "TIMESTAMP(6)", "TEXT"), INDEX);

    private SpecificationTable() {}

    private static String ddl(String json, String status, String time, String text) {
        return """
                CREATE TABLE outbox_event (
                  event_id VARCHAR(36) PRIMARY KEY,
                  event_type VARCHAR(128) NOT NULL,
                  aggregate_type VARCHAR(64),
                  aggregate_id VARCHAR(128),
                  tenant_id VARCHAR(64),
                  payload %1$s NOT NULL,
                  headers %1$s,
                  status %2$s NOT NULL,
                  attempts INT NOT NULL DEFAULT 0,
                  available_at %3$s NOT NULL,
                  created_at %3$s NOT NULL,
                  done_at %3$s,
                  last_error %4$s,
                  locked_by VARCHAR(128),
                  locked_at %3$s
                )
                """.formatted(json, status, time, text);
    }
}
