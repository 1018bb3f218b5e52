package outbox.jdbc;

import outbox.testing.contract.StoreFixture;

import java.sql.Statement;
import java.util.List;

/** The second table that earlier versions created on PostgreSQL for events with a priority or a deadline. */
final class EarlierControlTable {

    private EarlierControlTable() {}

    /** Runs the statements of {@code V3__outbox_control.sql} of those versions. */
    static void create(StoreFixture db, String table) {
        String control = table + "_control";
        String index = control.substring(control.indexOf('.') + 1);
        db.inTransaction(connection -> {
            try (Statement statement = connection.createStatement()) {
                for (String sql : List.of(
                        "CREATE TABLE " + control + " (PRIMARY KEY (event_id)) INHERITS (" + table + ")",
                        "ALTER TABLE " + table + " ADD COLUMN IF NOT EXISTS dedup_key VARCHAR(128),"
                                + " ADD COLUMN IF NOT EXISTS dedup_ms BIGINT, ADD COLUMN IF NOT EXISTS priority SMALLINT,"
                                + " ADD COLUMN IF NOT EXISTS expires_at TIMESTAMPTZ",
                        "CREATE INDEX " + index + "_due ON " + control + " (available_at, created_at)"
                                + " WHERE status IN (0, 2)",
                        "CREATE INDEX " + index + "_priority ON " + control + " (priority DESC, available_at)"
                                + " WHERE priority IS NOT NULL AND status IN (0, 2)",
                        "CREATE INDEX " + index + "_expiry ON " + control + " (status, expires_at)"
                                + " WHERE expires_at IS NOT NULL AND status IN (0, 2)")) {
                    statement.execute(sql);
                }
            }
        });
    }
}
