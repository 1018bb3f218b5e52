package outbox.samples.multids;

import outbox.TransactionStateException;
import outbox.jdbc.JdbcTransactionManager.Transaction;

import java.sql.SQLException;
import java.util.List;

/** Orders and payments, each in its own database. An event is stored in the database of its transaction. */
public final class Main {

    private final Department orders;
    private final Department payments;
    private boolean asPromised = true;

    private Main(Department orders, Department payments) {
        this.orders = orders;
        this.payments = payments;
    }

    public static void main(String[] args) throws Exception {
        boolean asPromised;
        try (Department orders = new Department("orders", "OrderPlaced");
                Department payments = new Department("payments", "PaymentReceived")) {
            asPromised = new Main(orders, payments).run();
        }
        System.out.println(asPromised ? "All is as promised." : "SOMETHING IS NOT AS PROMISED.");
        System.exit(asPromised ? 0 : 1);
    }

    private boolean run() throws SQLException, InterruptedException {
        eachEventIsDeliveredByItsOwnOutbox();
        aWriteInTheTransactionOfTheOtherDatabaseIsRefused();
        eachTransactionDecidesOnlyAboutItsOwnEvents();
        eachEventIsInItsOwnDatabase();
        return asPromised;
    }

    private void eachEventIsDeliveredByItsOwnOutbox() throws InterruptedException {
        try (Transaction tx = orders.begin()) {
            orders.writer().write("OrderPlaced", "{\"order\":1}");
            tx.commit();
        }
        try (Transaction tx = payments.begin()) {
            payments.writer().write("PaymentReceived", "{\"order\":1}");
            tx.commit();
        }
        check("orders delivered", orders.nextDelivered(), "OrderPlaced {\"order\":1}");
        check("payments delivered", payments.nextDelivered(), "PaymentReceived {\"order\":1}");
    }

    private void aWriteInTheTransactionOfTheOtherDatabaseIsRefused() {
        String outcome = "not refused";
        try (Transaction tx = orders.begin()) {
            payments.writer().write("PaymentReceived", "{\"order\":2}");
            tx.commit();
        } catch (TransactionStateException e) {
            System.out.println("       " + e.getMessage());
            outcome = "refused";
        }
        check("a payment written in a transaction of orders", outcome, "refused");
    }

    /**
     * Both transactions are open at the same time. One commits, the other rolls back. There is no transaction across
     * both databases.
     */
    private void eachTransactionDecidesOnlyAboutItsOwnEvents() throws InterruptedException {
        try (Transaction ofOrders = orders.begin();
                Transaction ofPayments = payments.begin()) {
            orders.writer().write("OrderPlaced", "{\"order\":3}");
            payments.writer().write("PaymentReceived", "{\"order\":3}");
            ofPayments.rollback();
            ofOrders.commit();
        }
        check("orders delivered", orders.nextDelivered(), "OrderPlaced {\"order\":3}");
    }

    private void eachEventIsInItsOwnDatabase() throws SQLException {
        check("events in the database of orders", orders.storedEvents(), List.of("OrderPlaced", "OrderPlaced"));
        check("events in the database of payments", payments.storedEvents(), List.of("PaymentReceived"));
        for (Department department : List.of(orders, payments)) {
            check(department.name() + " delivered anything else", department.hasMoreDelivered(), false);
        }
    }

    private void check(String what, Object found, Object expected) {
        boolean ok = found.equals(expected);
        asPromised &= ok;
        System.out.println((ok ? "ok     " : "WRONG  ") + what + ": " + found + (ok ? "" : ", expected " + expected));
    }
}
