package outbox.samples.demo;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Compares the database with the ledger after all deliveries have ended. */
final class Books {

    private static final int MAX_DEAD_SHOWN = 20;

    private final List<Entry> entries;
    private final List<ShopDatabase.DeadEvent> dead;

    private Books(List<Entry> entries, List<ShopDatabase.DeadEvent> dead) {
        this.entries = entries;
        this.dead = dead;
    }

    static Books audit(ShopDatabase database, Ledger ledger) throws SQLException {
        List<ShopDatabase.DeadEvent> dead = database.dead();
        long orders = database.orders();
        long done = database.done();
        long pending = database.pending();
        Ledger.Totals totals = ledger.totals();
        return new Books(
                List.of(
                        new Entry(
                                "orders in the database",
                                orders,
                                "orders the customers saw committed",
                                totals.committed()),
                        new Entry("events in the database", database.events(), "orders in the database", orders),
                        new Entry("orders without their event", database.ordersWithoutEvent(), "expected", 0),
                        new Entry(
                                "DONE %d + DEAD %d + pending %d".formatted(done, dead.size(), pending),
                                done + dead.size() + pending,
                                "events in the database",
                                database.events()),
                        new Entry("events DONE", done, "orders the warehouse shipped", ledger.deliveredOrders()),
                        new Entry("shipped although rolled back", ledger.deliveriesOfRolledBackOrders(), "expected", 0),
                        new Entry("shipped more than once", ledger.duplicates(), "expected", 0)),
                dead);
    }

    boolean balance() {
        return entries.stream().allMatch(Entry::balances);
    }

    List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add("The books: the database against what customers and warehouse noted");
        lines.add("");
        entries.forEach(entry -> lines.add("  " + entry));
        lines.add("");
        lines.add(dead.isEmpty() ? "No dead events." : "Dead events, which wait for a person to look at them:");
        dead.stream()
                .limit(MAX_DEAD_SHOWN)
                .map(event -> String.format(
                        Locale.ROOT, "  order %-8s %d attempts  %s", event.order(), event.attempts(), event.reason()))
                .forEach(lines::add);
        if (dead.size() > MAX_DEAD_SHOWN) {
            lines.add("  ... and " + (dead.size() - MAX_DEAD_SHOWN) + " more");
        }
        lines.add("");
        lines.add(balance() ? "The books balance." : "THE BOOKS DO NOT BALANCE.");
        return lines;
    }

    /** Two numbers that must be equal. */
    private record Entry(String what, long found, String where, long expected) {

        boolean balances() {
            return found == expected;
        }

        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT, "%-5s %-34s %8d = %-8d %s", balances() ? "ok" : "WRONG", what, found, expected, where);
        }
    }
}
