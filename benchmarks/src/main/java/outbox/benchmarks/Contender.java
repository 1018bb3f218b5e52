package outbox.benchmarks;

import java.util.List;
import javax.sql.DataSource;

/** A way to write and deliver events: the library, a peer, or raw JDBC. */
interface Contender {

    /** The name in options and reports. */
    String name();

    /** What it is, with its settings, in a line. */
    String description();

    /** Whether it is another product, against which the library is compared. */
    boolean isPeer();

    /** Creates its tables in an empty database. */
    void createSchema(Product product, DataSource dataSource) throws Exception;

    /** A query that counts the events which are not done. */
    String pendingSql();

    /** A statement that inserts a number of done events; called only in workloads with history. */
    default String historySql(Product product, int rows) {
        throw new UnsupportedOperationException(name() + " keeps no done events");
    }

    /** A statement that makes a backlog due at once; empty if it is. */
    default String makeDueSql(Product product) {
        return "";
    }

    /** How many invoices, which use delivery control, are written each second beside whatever is measured; see {@link Node#writeInvoices}. */
    default int invoicesPerSecond() {
        return 0;
    }

    /** A node on the tables of the data source, which delivers nothing until it is told to. */
    Node node(NodeSetup setup) throws Exception;

    /** What one process has of a contender. */
    interface Node extends AutoCloseable {

        /** Makes the business change and writes its event, in one transaction. Called from many threads. */
        void write(Event event) throws Exception;

        /** Writes many events in one transaction, without business change. Called before {@link #start()}. */
        void writeBacklog(List<Event> events) throws Exception;

        /** Makes the business changes and writes their events in one transaction, as invoices, which use delivery control. Called only in workloads with such events. */
        default void writeInvoices(List<Event> events) throws Exception {
            throw new UnsupportedOperationException("There are no invoices here");
        }

        /** From now on delivers what is there and what is written. */
        void start() throws Exception;

        @Override
        void close();
    }
}
