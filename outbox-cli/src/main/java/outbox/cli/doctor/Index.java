package outbox.cli.doctor;

import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * An index of the table.
 *
 * @param name as SQL names it, with its schema if necessary
 * @param columns in lower case, in index order, without expressions
 * @param isValid false if a CREATE INDEX CONCURRENTLY failed
 */
record Index(String name, List<String> columns, boolean isValid, boolean isUnique) {

    boolean startsWith(List<String> wanted) {
        return columns.size() >= wanted.size()
                && columns.subList(0, wanted.size()).equals(wanted);
    }

    static List<Index> of(Examination examination, String table) throws SQLException {
        return examination.isPostgres() ? ofPostgres(examination, table) : ofMetaData(examination, table);
    }

    /** Binds: table. */
    private static List<Index> ofPostgres(Examination examination, String table) throws SQLException {
        String sql = """
                SELECT i.indexrelid::regclass::text, a.attname, i.indisvalid, i.indisunique AND i.indpred IS NULL
                  FROM pg_index i
                  JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (attnum, place) ON TRUE
                  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
                 WHERE i.indrelid = to_regclass(?)
                 ORDER BY 1, k.place
                """;
        Map<String, Index> found = new LinkedHashMap<>();
        for (var row : examination.queries().rows(sql, table)) {
            add(
                    found,
                    String.valueOf(row.get(0)),
                    String.valueOf(row.get(1)),
                    "t".equals(row.get(2)),
                    "t".equals(row.get(3)));
        }
        return List.copyOf(found.values());
    }

    private static List<Index> ofMetaData(Examination examination, String table) throws SQLException {
        DatabaseMetaData database = examination.connection().getMetaData();
        int dot = table.indexOf('.');
        String schema = dot < 0 ? null : fold(database, table.substring(0, dot));
        String name = fold(database, table.substring(dot + 1));
        boolean isMySql = examination.isMySql();
        String catalog =
                isMySql && schema != null ? schema : examination.connection().getCatalog();
        Map<String, Index> found = new LinkedHashMap<>();
        try (ResultSet rows = database.getIndexInfo(catalog, isMySql ? null : schema, name, false, true)) {
            while (rows.next()) {
                String index = rows.getString("INDEX_NAME");
                String column = rows.getString("COLUMN_NAME");
                if (index != null && column != null) {
                    add(found, index, column, true, !rows.getBoolean("NON_UNIQUE"));
                }
            }
        }
        return List.copyOf(found.values());
    }

    private static String fold(DatabaseMetaData database, String name) throws SQLException {
        if (database.storesUpperCaseIdentifiers()) {
            return name.toUpperCase(Locale.ROOT);
        }
        return database.storesLowerCaseIdentifiers() ? name.toLowerCase(Locale.ROOT) : name;
    }

    private static void add(Map<String, Index> found, String name, String column, boolean isValid, boolean isUnique) {
        Index before = found.get(name);
        List<String> columns = new ArrayList<>(before == null ? List.of() : before.columns());
        columns.add(column.toLowerCase(Locale.ROOT));
        found.put(name, new Index(name, columns, isValid, isUnique));
    }
}
