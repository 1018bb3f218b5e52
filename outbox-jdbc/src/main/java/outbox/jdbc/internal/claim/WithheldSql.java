package outbox.jdbc.internal.claim;

import org.jspecify.annotations.Nullable;
import outbox.AggregateType;
import outbox.jdbc.internal.sql.Binder;
import outbox.spi.ClaimRequest.Withheld;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;

/**
 * The condition that an event is not withheld, for the WHERE clause of a claim. It is empty while nothing is
 * withheld, so the normal claim keeps its text. The number of bound names is padded to a power of two by repetition,
 * so that there are only few different texts.
 */
public final class WithheldSql {

    /** The values that the text of a statement depends on. */
    public record Text(Object statement, int types, int routes, int tenants, int known) {}

    /**
     * The route of an event, as written in a {@link Withheld}. Formatted with: the alias, the aggregate type for
     * events that have none.
     */
    private static final String ROUTE = "CONCAT(COALESCE(%1$saggregate_type, '%2$s'), ':', %1$sevent_type)";

    private final Withheld withheld;
    private final List<String> types;
    private final List<String> routes;
    private final List<String> tenants;
    private final @Nullable List<String> known;

    public WithheldSql(Withheld withheld) {
        this.withheld = withheld;
        types = filledUp(withheld.types());
        routes = filledUp(withheld.routes());
        tenants = filledUp(withheld.tenants());
        Set<String> only = withheld.known();
        known = only == null ? null : filledUp(only);
    }

    private static List<String> filledUp(Collection<String> names) {
        List<String> filled = new ArrayList<>(names.stream().sorted().toList());
        int size = filled.isEmpty() ? 0 : Integer.highestOneBit(filled.size() * 2 - 1);
        while (filled.size() < size) {
            filled.add(filled.get(0));
        }
        return filled;
    }

    /** Returns the cache key of a statement with this condition. */
    public Object text(Object statement) {
        return withheld.isNothing()
                ? statement
                : new Text(statement, types.size(), routes.size(), tenants.size(), known == null ? -1 : known.size());
    }

    /** Returns the condition, beginning with AND, or an empty string. Binds: see {@link #bind}. */
    public String condition(String alias) {
        StringBuilder condition = new StringBuilder();
        if (!types.isEmpty()) {
            condition.append(" AND ").append(alias).append("event_type NOT IN ").append(places(types));
        }
        if (!routes.isEmpty()) {
            condition.append(" AND ").append(route(alias)).append(" NOT IN ").append(places(routes));
        }
        if (!tenants.isEmpty()) {
            condition
                    .append(" AND (%1$stenant_id IS NULL OR %1$stenant_id NOT IN ".formatted(alias))
                    .append(places(tenants))
                    .append(")");
        }
        if (known != null) {
            condition.append(known.isEmpty() ? " AND 1 = 0" : " AND " + route(alias) + " IN " + places(known));
        }
        return condition.toString();
    }

    private static String route(String alias) {
        return ROUTE.formatted(alias, AggregateType.GLOBAL.name());
    }

    private static String places(List<String> names) {
        return "(?" + ", ?".repeat(names.size() - 1) + ")";
    }

    public void bind(Binder binder) throws SQLException {
        binder.texts(types).texts(routes).texts(tenants).texts(known == null ? List.of() : known);
    }
}
