package outbox.benchmarks;

import java.util.List;
import javax.sql.DataSource;

/**
 * Raw JDBC with only the columns and the index that a claim needs, written by hand for this benchmark. It has no
 * retries, no second node and no recovery of lost events. Its rate is the upper limit.
 */
final class JdbcLimit implements Contender {
    private final Variant variant;

    /** How outcomes are written. */
    enum Variant {
        UPDATE("limit-update", "one thread delivers, then marks up to 1,000 events in one UPDATE"),
        DELETE("limit-delete", "one thread delivers, then deletes up to 1,000 events in one DELETE"),
        PIPELINED("limit-pipelined", "as limit-update, but one thread delivers and another one marks");

        private final String title;
        private final String description;

        Variant(String title, String description) {
            this.title = title;
            this.description = description;
        }
    }

    JdbcLimit(Variant variant) {
        this.variant = variant;
    }

    @Override
    public String name() {
        return variant.title;
    }

    @Override
    public String description() {
        return "raw JDBC, one INSERT per event, backlog claimed 500 at a time: " + variant.description;
    }

    @Override
    public boolean isPeer() {
        return false;
    }

    @Override
    public void createSchema(Product product, DataSource dataSource) {
        OutboxTable.createForLimit(product, dataSource);
    }

    @Override
    public String pendingSql() {
        return OutboxTable.PENDING;
    }

    @Override
    public String historySql(Product product, int rows) {
        return OutboxTable.historySql(product, rows);
    }

    @Override
    public Node node(NodeSetup setup) {
        LimitStatements statements =
                LimitStatements.of(setup.product(), variant == Variant.DELETE ? "DELETE" : "UPDATE");
        return new LimitNode(setup, statements);
    }

    private final class LimitNode implements Node {
        private final NodeSetup setup;
        private final LimitStatements statements;
        private final LimitDelivery delivery;

        LimitNode(NodeSetup setup, LimitStatements statements) {
            this.setup = setup;
            this.statements = statements;
            delivery = new LimitDelivery(setup, statements, variant == Variant.PIPELINED);
        }

        @Override
        public void write(Event event) throws Exception {
            LimitRow row = LimitRow.of(event);
            RawTransaction.run(setup.dataSource(), connection -> {
                Business.change(connection, event);
                statements.insert(connection, List.of(row));
            });
            delivery.committed(row);
        }

        @Override
        public void writeBacklog(List<Event> events) throws Exception {
            List<LimitRow> rows = events.stream().map(LimitRow::of).toList();
            RawTransaction.run(setup.dataSource(), connection -> statements.insert(connection, rows));
        }

        @Override
        public void start() throws Exception {
            delivery.start();
        }

        @Override
        public void close() {
            delivery.close();
        }
    }
}
