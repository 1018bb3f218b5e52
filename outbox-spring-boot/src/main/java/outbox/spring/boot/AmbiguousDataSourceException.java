package outbox.spring.boot;

import java.util.List;

/** There are several data sources, and nothing says which of them an outbox is in. */
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

    /** The property that says which. */
    String property() {
        return property;
    }

    List<String> beans() {
        return beans;
    }
}
