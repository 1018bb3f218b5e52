package outbox.benchmarks;

import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.datasource.init.ResourceDatabasePopulator;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.OutboxSchema;

import javax.sql.DataSource;

/** The table of the library. Raw JDBC uses the part of it that a claim needs. */
final class OutboxTable {
    static final String PENDING = "SELECT count(*) FROM outbox_event WHERE status IN (0, 2)";

    static final String PENDING_PLAIN = PENDING + " AND event_type = 'OrderPlaced'";

    private OutboxTable() {}

    static void create(DataSource dataSource) {
        AbstractJdbcEventStore store = JdbcEventStores.detect(dataSource);
        OutboxSchema.create(dataSource, store);
    }

    /**
     * Creates the columns and the index that a claim needs. The parts for ordering are left out, because raw JDBC
     * must not pay for them.
     */
    static void createForLimit(Product product, DataSource dataSource) {
        String directory = product == Product.POSTGRESQL ? "postgresql" : "mysql";
        new ResourceDatabasePopulator(
                        new ClassPathResource("META-INF/outbox/schema/%s/V1__outbox_event.sql".formatted(directory)))
                .execute(dataSource);
    }

    /** Binds nothing. The ids are in time order, like those that the library generates. */
    static String historySql(Product product, int rows) {
        String from = switch (product) {
            case POSTGRESQL -> "generate_series(1, %d) AS s (seq)".formatted(rows);
            case MARIADB -> "seq_1_to_%d".formatted(rows);
        };
        String anHourAgo = switch (product) {
            case POSTGRESQL -> "now() - INTERVAL '1 hour'";
            case MARIADB -> "utc_timestamp(6) - INTERVAL 1 HOUR";
        };
        return """
                INSERT INTO outbox_event (event_id, event_type, aggregate_type, aggregate_id, payload, status,
                                          attempts, available_at, created_at, done_at)
                SELECT concat('0', lpad(CAST(seq AS CHAR(25)), 25, '0')), 'OrderPlaced', 'Order', concat('order-', mod(seq, 1000)),
                       repeat('x', 200), 1,
                       1, %1$s, %1$s, %1$s
                  FROM %2$s
                """.formatted(anHourAgo, from);
    }
}
