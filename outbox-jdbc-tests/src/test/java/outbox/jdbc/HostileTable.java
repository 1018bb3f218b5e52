package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.spi.LeasingEventStore;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import javax.sql.DataSource;

/** An outbox table with some layout, filled by SQL with arbitrary values that its columns allow. */
final class HostileTable {

    /** A layout on a database. */
    enum Kind {
        OUTBOX_ON_POSTGRES(Databases.POSTGRES),
        OUTBOX_ON_MARIADB(Databases.MARIADB),
        OUTBOX_ON_MYSQL(Databases.MYSQL),
        OUTBOX_ON_H2(Databases.H2),
        SPECIFICATION_ON_POSTGRES(Databases.POSTGRES),
        SPECIFICATION_ON_MARIADB(Databases.MARIADB),
        MODULE_ON_POSTGRES(Databases.POSTGRES),
        TEXT_STATUS_ON_POSTGRES(Databases.POSTGRES),
        TEXT_STATUS_ON_MARIADB(Databases.MARIADB),
        TEXT_STATUS_ON_H2(Databases.H2);

        final Databases database;

        Kind(Databases database) {
            this.database = database;
        }

        boolean isModule() {
            return this == MODULE_ON_POSTGRES;
        }

        boolean isTextStatus() {
            return name().startsWith("TEXT_STATUS");
        }

        boolean isOutbox() {
            return name().startsWith("OUTBOX");
        }

        boolean isMySql() {
            return database == Databases.MARIADB || database == Databases.MYSQL;
        }

        /** Returns a store for an existing table. */
        LeasingEventStore store(DataSource pool) {
            if (isModule()) {
                return LayoutEventStore.of(pool, TableLayout.module("public.org_outbox"));
            }
            if (isTextStatus()) {
                TestLead lead = new TestLead();
                lead.offered = true;
                lead.lead();
                return LayoutEventStore.of(pool, TableLayout.textStatus("outbox_events"), lead);
            }
            return isOutbox()
                    ? database.store()
                    : LayoutEventStore.of(pool, TableLayout.specification(AbstractJdbcEventStore.DEFAULT_TABLE));
        }
    }

    private static final String GOOD_TIME = "2026-01-01 00:00:00";

    final Kind kind;
    final String url;
    final DataSource pool;
    private final String table;
    private final Map<String, String> types = new LinkedHashMap<>(); // column → type, in lower case
    private final String id;

    HostileTable(Kind kind) {
        this.kind = kind;
        this.url = kind.database.url();
        this.pool = Databases.newPool(url, 10, true);
        this.id = "event_id";
        if (kind.isModule() || kind.isTextStatus()) {
            this.table = kind.isModule() ? "public.org_outbox" : "outbox_events";
            LayoutSchema.create(pool, (LayoutEventStore) kind.store(pool));
        } else {
            this.table = AbstractJdbcEventStore.DEFAULT_TABLE;
            OutboxSchema.create(
                    pool, kind.database.store(), Capability.KEYS, Capability.PRIORITY, Capability.DEADLINES);
        }
        readTypes();
    }

    private void readTypes() {
        call(connection -> {
            try (Statement select = connection.createStatement();
                    ResultSet none = select.executeQuery("SELECT * FROM " + table + " WHERE 1 = 0")) {
                for (int i = 1; i <= none.getMetaData().getColumnCount(); i++) {
                    types.put(
                            none.getMetaData().getColumnLabel(i).toLowerCase(Locale.ROOT),
                            none.getMetaData()
                                    .getColumnTypeName(i)
                                    .toLowerCase(Locale.ROOT)
                                    .replace("serial", "int")); // a column default, not a type of values
                }
            }
            return true;
        });
        types.remove("priority_slot"); // generated
    }

    /** Returns a row that can be delivered, as values by column. All other columns have their default. */
    Map<String, @Nullable String> goodRow() {
        Map<String, @Nullable String> row = new HashMap<>();
        row.put(id, UUID.randomUUID().toString());
        row.put(column("event_type"), "T");
        row.put("payload", "{\"n\": 1}");
        row.put(column("created_at"), GOOD_TIME);
        row.put(column("available_at"), GOOD_TIME);
        row.put(column("attempts"), "0");
        if (kind.isModule()) {
            row.put("tenant_id", UUID.randomUUID().toString());
        } else if (kind.isTextStatus()) {
            row.put("aggregate_type", "A");
            row.put("aggregate_id", "7");
            row.put("update_time", GOOD_TIME);
            row.put("status", "NEW");
        } else {
            row.put("status", "0");
        }
        return row;
    }

    /** Returns the name that the layout uses for one of our columns. */
    String column(String ours) {
        return switch (ours) {
            case "event_type" -> kind.isModule() ? "topic" : ours;
            case "created_at" -> kind.isTextStatus() ? "create_time" : ours;
            case "available_at" -> kind.isTextStatus() ? "next_retry_time" : ours;
            case "attempts" -> kind.isTextStatus() ? "retry_count" : ours;
            default -> ours;
        };
    }

    boolean has(String column) {
        return types.containsKey(column);
    }

    /** Inserts rows, many per statement. Rows with the same columns are sent together. */
    void insert(List<Map<String, @Nullable String>> rows) {
        Map<List<String>, List<Map<String, @Nullable String>>> byColumns = rows.stream()
                .collect(Collectors.groupingBy(
                        row -> row.keySet().stream().sorted().toList()));
        call(connection -> {
            connection.setAutoCommit(false);
            if (kind.isMySql()) {
                execute(connection, "SET SESSION sql_mode = ''"); // allows invalid dates
            }
            for (Map.Entry<List<String>, List<Map<String, @Nullable String>>> group : byColumns.entrySet()) {
                insert(connection, group.getKey(), group.getValue());
            }
            connection.commit();
            connection.setAutoCommit(true);
            if (kind.isMySql()) {
                execute(connection, "SET SESSION sql_mode = DEFAULT");
            }
            return true;
        });
    }

    private void insert(Connection connection, List<String> columns, List<Map<String, @Nullable String>> rows)
            throws SQLException {
        String sql = "INSERT INTO " + table + " (" + String.join(", ", columns) + ") VALUES ("
                + columns.stream().map(this::parameter).collect(Collectors.joining(", ")) + ")";
        try (PreparedStatement insert = connection.prepareStatement(sql)) {
            int bytes = 0;
            for (Map<String, @Nullable String> row : rows) {
                for (int i = 0; i < columns.size(); i++) {
                    String value = row.get(columns.get(i));
                    insert.setString(i + 1, value);
                    bytes += value == null ? 0 : value.length();
                }
                insert.addBatch();
                if (bytes > 1_000_000) {
                    insert.executeBatch();
                    bytes = 0;
                }
            }
            insert.executeBatch();
        }
    }

    private String parameter(String column) {
        String type = types.get(column);
        if (kind.isMySql()) {
            return column.equals("payload_bytes") ? "UNHEX(?)" : "?";
        }
        return "CAST(? AS " + type + ")";
    }

    void execute(String sql) {
        call(connection -> {
            execute(connection, sql);
            return true;
        });
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    long pending() {
        return ids(pendingCondition(), "NULL").size();
    }

    private String pendingCondition() {
        return kind.isModule()
                ? "published_at IS NULL AND attempts < 25"
                : kind.isTextStatus() ? "status IN ('NEW', 'RETRY')" : "status IN (0, 2)";
    }

    /** Returns the delivered events. */
    Map<String, @Nullable String> done() {
        return ids(
                kind.isModule() ? "published_at IS NOT NULL" : kind.isTextStatus() ? "status = 'SENT'" : "status = 1",
                "NULL");
    }

    /** Returns the dead events with their errors. */
    Map<String, @Nullable String> dead() {
        return ids(
                kind.isModule()
                        ? "published_at IS NULL AND attempts >= 25"
                        : kind.isTextStatus() ? "status = 'FAILED'" : "status = 3",
                kind.isTextStatus() ? "'none is kept'" : "last_error");
    }

    private Map<String, @Nullable String> ids(String condition, String value) {
        return call(connection -> {
            Map<String, @Nullable String> found = new HashMap<>();
            try (Statement select = connection.createStatement();
                    ResultSet rows = select.executeQuery(
                            "SELECT " + id + ", " + value + " FROM " + table + " WHERE " + condition)) {
                while (rows.next()) {
                    found.put(rows.getString(1), rows.getString(2));
                }
            }
            return found;
        });
    }

    private <T> T call(StoreFixture.Question<T> question) {
        try (Connection connection = pool.getConnection()) {
            return question.on(connection);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    String table() {
        return table;
    }

    /** Returns copies of a row, each with a new id. */
    List<Map<String, @Nullable String>> goodRows(int count) {
        List<Map<String, @Nullable String>> rows = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            rows.add(goodRow());
        }
        return rows;
    }

    static List<String> ids(List<Map<String, @Nullable String>> rows) {
        return rows.stream().map(row -> row.get("event_id")).toList();
    }
}
