package outbox.spring.boot;

import java.util.List;

/** There are several data sources, and nothing says which of them an outbox is in. */
final class AmbiguousDataSourceException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final String outbox;
    private final List<String> beans;

    AmbiguousDataSourceException(String outbox, List<String> beans) {
        super("Outbox " + outbox + " needs one DataSource, but there are " + beans.size() + ": "
                + String.join(", ", beans));
        this.outbox = outbox;
        this.beans = List.copyOf(beans);
    }

    String outbox() {
        return outbox;
    }

    List<String> beans() {
        return beans;
    }
}
