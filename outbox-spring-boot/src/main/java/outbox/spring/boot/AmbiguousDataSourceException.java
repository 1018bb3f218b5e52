package outbox.spring.boot;

import java.util.List;

/** The application has several data sources, and no setting selects the one of an outbox. */
final class AmbiguousDataSourceException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final String property;
    private final List<String> beans;

    AmbiguousDataSourceException(String outbox, String property, List<String> beans) {
        super("Outbox " + outbox + " needs one DataSource, but there are " + beans.size() + ": "
                + String.join(", ", beans));
        this.property = property;
        this.beans = List.copyOf(beans);
    }

    /** Returns the name of the property that selects the data source. */
    String property() {
        return property;
    }

    List<String> beans() {
        return beans;
    }
}
