package outbox.guide;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.annotation.Transactional;
import outbox.OutboxWriter;
import outbox.spring.Outbox;

import javax.sql.DataSource;

/** A service with the outbox of one of two databases. */
class TwoDatabases {

    private final JdbcClient jdbc;
    private final OutboxWriter outbox;

    TwoDatabases(DataSource billingDataSource, @Outbox("billing") OutboxWriter outbox) {
        this.jdbc = JdbcClient.create(billingDataSource);
        this.outbox = outbox;
    }

    @Transactional("billingTransactionManager")
    public void send(String invoice) {
        jdbc.sql("INSERT INTO invoices (id) VALUES (?)").param(invoice).update();
        outbox.write("invoice.sent", "{\"id\":\"" + invoice + "\"}");
    }

    @Transactional("ordersTransactionManager")
    public void sendInTheWrongOne(String invoice) {
        outbox.write("invoice.sent", "{\"id\":\"" + invoice + "\"}");
    }
}
