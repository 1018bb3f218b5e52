package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.Experimental;
import outbox.model.EventStatus;

import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Describes an outbox table of any design: its name, its columns and their names, and how it stores the status of an
 * event. Times in the table are in UTC.
 *
 * <p>The table may have a status column with one value per status. Otherwise the delivery time and the attempts
 * determine the status: an event is delivered if the time is set, and dead if it is not set and there were
 * {@link #maxAttempts} attempts. {@link #has} says which features the layout supports.
 */
@Experimental
public final class TableLayout {

    static final String MODULE = "module";
    static final String TEXT_STATUS = "text status";

    private static final Pattern COLUMN = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,62}");
    private static final Pattern STATUS_VALUE = Pattern.compile("[A-Za-z0-9_ -]{1,32}");
    private static final List<LayoutColumn> REQUIRED = List.of(
            LayoutColumn.EVENT_ID,
            LayoutColumn.EVENT_TYPE,
            LayoutColumn.PAYLOAD,
            LayoutColumn.ATTEMPTS,
            LayoutColumn.AVAILABLE_AT,
            LayoutColumn.CREATED_AT);

    private final String name;
    private final TableName table;
    private final Map<LayoutColumn, String> columns;
    private final Set<LayoutColumn> optional;
    private final @Nullable Map<EventStatus, String> statuses; // as SQL literals
    private final boolean dueWhenNull;
    private final int maxAttempts;

    private TableLayout(Builder builder) {
        this.name = builder.name;
        this.table = builder.table;
        this.columns = Collections.unmodifiableMap(new EnumMap<>(builder.columns));
        this.optional = Collections.unmodifiableSet(EnumSet.copyOf(builder.optional));
        this.statuses = builder.statuses;
        this.dueWhenNull = builder.dueWhenNull;
        this.maxAttempts = builder.maxAttempts;
    }

    /**
     * The table of the specification with its 15 columns. The stores of {@link JdbcEventStores} are faster and
     * support more features on it.
     */
    public static TableLayout specification(String table) {
        return builder("specification", table)
                .column(LayoutColumn.EVENT_ID, "event_id")
                .column(LayoutColumn.EVENT_TYPE, "event_type")
                .column(LayoutColumn.AGGREGATE_TYPE, "aggregate_type")
                .column(LayoutColumn.AGGREGATE_ID, "aggregate_id")
                .column(LayoutColumn.TENANT_ID, "tenant_id")
                .column(LayoutColumn.PAYLOAD, "payload")
                .column(LayoutColumn.HEADERS, "headers")
                .column(LayoutColumn.STATUS, "status")
                .column(LayoutColumn.ATTEMPTS, "attempts")
                .column(LayoutColumn.AVAILABLE_AT, "available_at")
                .column(LayoutColumn.CREATED_AT, "created_at")
                .column(LayoutColumn.DONE_AT, "done_at")
                .column(LayoutColumn.LAST_ERROR, "last_error")
                .column(LayoutColumn.LOCKED_BY, "locked_by")
                .column(LayoutColumn.LOCKED_AT, "locked_at")
                .statusNumbers(0, 1, 2, 3)
                .build();
    }

    /**
     * The standard table {@code <module>_outbox}: status from {@code published_at} and {@code attempts}, a sequence,
     * claims by {@code locked_at}, and trace columns if the table has them.
     */
    public static TableLayout module(String table) {
        return builder(MODULE, table)
                .column(LayoutColumn.EVENT_ID, "event_id")
                .column(LayoutColumn.EVENT_TYPE, "topic")
                .column(LayoutColumn.TENANT_ID, "tenant_id")
                .column(LayoutColumn.PAYLOAD, "payload")
                .column(LayoutColumn.ATTEMPTS, "attempts")
                .column(LayoutColumn.AVAILABLE_AT, "available_at")
                .column(LayoutColumn.CREATED_AT, "created_at")
                .column(LayoutColumn.DONE_AT, "published_at")
                .column(LayoutColumn.LAST_ERROR, "last_error")
                .column(LayoutColumn.LOCKED_AT, "locked_at")
                .column(LayoutColumn.SEQUENCE, "sequence")
                .optionalColumn(LayoutColumn.TRACE_PARENT, "traceparent")
                .optionalColumn(LayoutColumn.TRACE_STATE, "tracestate")
                .build();
    }

    /**
     * The table {@code outbox_events} with a textual status, {@code next_retry_time} and no columns for claims. It
     * needs a leadership.
     */
    public static TableLayout textStatus(String table) {
        return builder(TEXT_STATUS, table)
                .column(LayoutColumn.EVENT_ID, "event_id")
                .column(LayoutColumn.EVENT_TYPE, "event_type")
                .column(LayoutColumn.AGGREGATE_TYPE, "aggregate_type")
                .column(LayoutColumn.AGGREGATE_ID, "aggregate_id")
                .column(LayoutColumn.PAYLOAD, "payload")
                .column(LayoutColumn.STATUS, "status")
                .column(LayoutColumn.ATTEMPTS, "retry_count")
                .column(LayoutColumn.AVAILABLE_AT, "next_retry_time")
                .column(LayoutColumn.CREATED_AT, "create_time")
                .column(LayoutColumn.UPDATED_AT, "update_time")
                .column(LayoutColumn.SEQUENCE, "id")
                .dueWhenNull()
                .statusTexts("NEW", "SENT", "RETRY", "FAILED")
                .build();
    }

    /**
     * Starts the description of a custom layout.
     *
     * @param name the name of the layout in messages
     */
    public static Builder builder(String name, String table) {
        return new Builder(name, table);
    }

    /** Returns the same layout with another number of attempts after which an event is dead. */
    public TableLayout withMaxAttempts(int maxAttempts) {
        Builder copy = new Builder(name, table.value());
        copy.columns.putAll(columns);
        copy.optional.addAll(optional);
        copy.statuses = statuses;
        copy.dueWhenNull = dueWhenNull;
        return copy.maxAttempts(maxAttempts).build();
    }

    public String name() {
        return name;
    }

    public TableName table() {
        return table;
    }

    /** Returns the number of attempts after which an event is dead; default 25. */
    public int maxAttempts() {
        return maxAttempts;
    }

    /**
     * Whether the layout has a feature. For {@link LayoutFeature#TRACE} of the module layout, the table must also
     * have the columns.
     */
    public boolean has(LayoutFeature feature) {
        return feature.isIn(columns.keySet());
    }

    /**
     * Refuses an operation that needs a missing feature.
     *
     * @param why what was requested, as a clause for the message
     * @throws EventStoreException if the layout lacks the feature; the message names it
     */
    public void require(LayoutFeature feature, String why) {
        if (!has(feature)) {
            throw new EventStoreException(
                    "Table " + table + " cannot " + why + ": its layout '" + name + "' lacks " + feature
                            + ", it has no column for "
                            + feature.columns().stream()
                                    .filter(column -> !columns.containsKey(column))
                                    .toList(),
                    null);
        }
    }

    boolean has(LayoutColumn column) {
        return columns.containsKey(column);
    }

    boolean isOptional(LayoutColumn column) {
        return optional.contains(column);
    }

    /** Returns the name of a column. */
    String column(LayoutColumn column) {
        return Objects.requireNonNull(columns.get(column), column.name());
    }

    Map<LayoutColumn, String> columns() {
        return columns;
    }

    /** Returns the values of the status column, or null if there is no such column. */
    @Nullable
    Map<EventStatus, String> statuses() {
        return statuses;
    }

    /** Whether an event without a due time is due. */
    boolean isDueWhenNull() {
        return dueWhenNull;
    }

    /** Collects the parts of a layout. Every setter refuses an invalid value. Not thread-safe. */
    public static final class Builder {

        private final String name;
        private final TableName table;
        private final Map<LayoutColumn, String> columns = new EnumMap<>(LayoutColumn.class);
        private final Set<LayoutColumn> optional = EnumSet.noneOf(LayoutColumn.class);
        private @Nullable Map<EventStatus, String> statuses;
        private boolean dueWhenNull;
        private int maxAttempts = 25;

        private Builder(String name, String table) {
            this.name = Objects.requireNonNull(name, "name");
            this.table = new TableName(table);
        }

        /** Sets the name of a column. It may contain letters, digits and underscores. */
        public Builder column(LayoutColumn column, String columnName) {
            if (!COLUMN.matcher(columnName).matches()) {
                throw new IllegalArgumentException("'" + columnName.replaceAll("[^ -~]", "?")
                        + "' is not a column name: use ASCII letters, digits and _");
            }
            columns.put(column, columnName);
            return this;
        }

        /** Sets the name of a column that is used if the table has it. Only for the trace columns. */
        public Builder optionalColumn(LayoutColumn column, String columnName) {
            if (column != LayoutColumn.TRACE_PARENT && column != LayoutColumn.TRACE_STATE) {
                throw new IllegalArgumentException("Only the trace columns can be optional, not " + column);
            }
            optional.add(column);
            return column(column, columnName);
        }

        /** Sets the values of a numeric status column. */
        public Builder statusNumbers(int whenNew, int whenDone, int whenRetry, int whenDead) {
            return statuses(
                    Integer.toString(whenNew),
                    Integer.toString(whenDone),
                    Integer.toString(whenRetry),
                    Integer.toString(whenDead));
        }

        /** Sets the values of a textual status column. */
        public Builder statusTexts(String whenNew, String whenDone, String whenRetry, String whenDead) {
            for (String value : List.of(whenNew, whenDone, whenRetry, whenDead)) {
                if (!STATUS_VALUE.matcher(value).matches()) {
                    throw new IllegalArgumentException(
                            "A status is a text of 1 to 32 ASCII letters, digits, spaces, _ and -");
                }
            }
            return statuses("'" + whenNew + "'", "'" + whenDone + "'", "'" + whenRetry + "'", "'" + whenDead + "'");
        }

        private Builder statuses(String whenNew, String whenDone, String whenRetry, String whenDead) {
            if (Set.copyOf(List.of(whenNew, whenDone, whenRetry, whenDead)).size() < 4) {
                throw new IllegalArgumentException("Each status needs a value of its own");
            }
            statuses = Map.of(
                    EventStatus.NEW, whenNew,
                    EventStatus.DONE, whenDone,
                    EventStatus.RETRY, whenRetry,
                    EventStatus.DEAD, whenDead);
            return this;
        }

        /**
         * Makes an event due if its {@link LayoutColumn#AVAILABLE_AT} is null. By default, that column is
         * never null.
         */
        public Builder dueWhenNull() {
            this.dueWhenNull = true;
            return this;
        }

        /** Sets the number of attempts after which an event is dead; at least 1, default 25. */
        public Builder maxAttempts(int maxAttempts) {
            if (maxAttempts < 1) {
                throw new IllegalArgumentException("maxAttempts must be at least 1: " + maxAttempts);
            }
            this.maxAttempts = maxAttempts;
            return this;
        }

        /**
         * Builds the layout. Refuses a description that is incomplete or contradictory.
         *
         * @throws IllegalArgumentException if the description is invalid; the message says why
         */
        public TableLayout build() {
            List<LayoutColumn> missing = REQUIRED.stream()
                    .filter(column -> !columns.containsKey(column))
                    .toList();
            if (!missing.isEmpty()) {
                throw refused("it has no column for " + missing);
            }
            if (columns.containsKey(LayoutColumn.STATUS) != (statuses != null)) {
                throw refused("a column for STATUS and values for it go together");
            }
            if (statuses == null && !columns.containsKey(LayoutColumn.DONE_AT)) {
                throw refused("without STATUS it needs a column for DONE_AT, by which it tells what is delivered");
            }
            if (statuses != null
                    && !columns.containsKey(LayoutColumn.DONE_AT)
                    && !columns.containsKey(LayoutColumn.UPDATED_AT)) {
                throw refused("it needs a column for DONE_AT or UPDATED_AT, by which a purge tells the age");
            }
            if (columns.containsKey(LayoutColumn.LOCKED_BY) && !columns.containsKey(LayoutColumn.LOCKED_AT)) {
                throw refused("LOCKED_BY is of no use without LOCKED_AT");
            }
            if (Set.copyOf(columns.values()).size() < columns.size()) {
                throw refused("two of its columns have the same name");
            }
            return new TableLayout(this);
        }

        private IllegalArgumentException refused(String why) {
            return new IllegalArgumentException("The layout '" + name + "' of table " + table + " cannot be: " + why);
        }
    }
}
