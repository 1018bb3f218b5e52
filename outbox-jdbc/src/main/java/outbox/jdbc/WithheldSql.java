package outbox.jdbc;

import outbox.AggregateType;
import outbox.spi.Withheld;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * The condition that an event is not withheld, for the WHERE of a claim. There is none while nothing is, so the usual claim has its usual text. Names are bound in numbers that are
 * powers of two, filled up by repetition, so that few texts are ever made.
 */
final class WithheldSql {

    /** What the text of a statement depends on. */
    record Text(Object statement, int types, int routes, int tenants) {}

    private final Withheld withheld;
    private final List<String> types;
    private final List<String> routes;
    private final List<String> tenants;

    WithheldSql(Withheld withheld) {
        this.withheld = withheld;
        types = filledUp(withheld.types());
        routes = filledUp(withheld.routes());
        tenants = filledUp(withheld.tenants());
    }

    private static List<String> filledUp(Collection<String> names) {
        List<String> filled = new ArrayList<>(names.stream().sorted().toList());
        int size = filled.isEmpty() ? 0 : Integer.highestOneBit(filled.size() * 2 - 1);
        while (filled.size() < size) {
            filled.add(filled.get(0));
        }
        return filled;
    }

    /** The key of a statement with this condition. */
    Object text(Object statement) {
        return withheld.isNothing() ? statement : new Text(statement, types.size(), routes.size(), tenants.size());
    }

    /** Begins with AND, or is empty. Binds: see {@link #bind}. */
    String condition(String alias) {
        StringBuilder condition = new StringBuilder();
        if (!types.isEmpty()) {
            condition.append(" AND ").append(alias).append("event_type NOT IN ").append(places(types));
        }
        if (!routes.isEmpty()) {
            condition
                    .append(" AND CONCAT(COALESCE(%1$saggregate_type, '%2$s'), ':', %1$sevent_type) NOT IN "
                            .formatted(alias, AggregateType.GLOBAL.name()))
                    .append(places(routes));
        }
        if (!tenants.isEmpty()) {
            condition
                    .append(" AND (%1$stenant_id IS NULL OR %1$stenant_id NOT IN ".formatted(alias))
                    .append(places(tenants))
                    .append(")");
        }
        return condition.toString();
    }

    private static String places(List<String> names) {
        return "(?" + ", ?".repeat(names.size() - 1) + ")";
    }

    void bind(Binder binder) throws SQLException {
        binder.texts(types).texts(routes).texts(tenants);
    }
}
