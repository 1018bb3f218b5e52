package outbox.benchmarks;

import java.util.List;
import javax.sql.DataSource;

/** A way to write and deliver events: the library, a peer, or raw JDBC. */
interface Contender {

    /** The name in options and reports. */
    String name();

    /** Describes the contender and its settings in one line. */
    String description();

    /** Whether it is another product that the library is compared with. */
    boolean isPeer();

    /** Creates its tables in an empty database. */
    void createSchema(Product product, DataSource dataSource) throws Exception;

    /** Returns a query that counts the events that are not done. */
    String pendingSql();

    /** Returns a statement that inserts a number of done events. Called only in workloads with history. */
    default String historySql(Product product, int rows) {
        throw new UnsupportedOperationException(name() + " keeps no done events");
    }

    /** Returns a statement that makes a backlog due immediately; empty if the backlog is already due. */
    default String makeDueSql(Product product) {
        return "";
    }

    /**
     * Returns how many invoices, which use delivery control, are written per second during the measurement; see
     * {@link Node#writeInvoices}.
     */
    default int invoicesPerSecond() {
        return 0;
    }

    /** Creates a node on the tables of the data source. It delivers nothing before {@link Node#start}. */
    Node node(NodeSetup setup) throws Exception;

    /** The part of a contender that runs in one process. */
    interface Node extends AutoCloseable {

        /** Makes the business change and writes its event, in one transaction. Called from many threads. */
        void write(Event event) throws Exception;

        /** Writes many events in one transaction, without business change. Called before {@link #start()}. */
        void writeBacklog(List<Event> events) throws Exception;

        /**
         * Makes the business changes and writes their events in one transaction, as invoices, which use delivery
         * control. Called only in workloads with such events.
         */
        default void writeInvoices(List<Event> events) throws Exception {
            throw new UnsupportedOperationException("There are no invoices here");
        }

        /** Starts the delivery of existing and new events. */
        void start() throws Exception;

        @Override
        void close();
    }
}
