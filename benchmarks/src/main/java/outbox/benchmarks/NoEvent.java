package outbox.benchmarks;

import java.util.List;
import javax.sql.DataSource;

/** The business transaction without an event. */
final class NoEvent implements Contender {

    @Override
    public String name() {
        return "no-event";
    }

    @Override
    public String description() {
        return "the business transaction alone";
    }

    @Override
    public boolean isPeer() {
        return false;
    }

    @Override
    public void createSchema(Product product, DataSource dataSource) {}

    @Override
    public String pendingSql() {
        return "SELECT 0";
    }

    @Override
    public Node node(NodeSetup setup) {
        return new Node() {
            @Override
            public void write(Event event) throws Exception {
                RawTransaction.run(setup.dataSource(), connection -> Business.change(connection, event));
            }

            @Override
            public void writeBacklog(List<Event> events) {}

            @Override
            public void start() {}

            @Override
            public void close() {}
        };
    }
}
