package outbox.spring.boot;

import java.util.List;

/** No transaction manager was found for the data source of an outbox, so no event could be written. */
final class MissingTransactionManagerException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final String outbox;
    private final List<String> others;
    private final String property;
    private final String roleProperty;

    MissingTransactionManagerException(String outbox, EngineSettings settings, List<String> others) {
        this(
                "There is no transaction manager for the DataSource of outbox " + outbox
                        + (others.isEmpty()
                                ? ""
                                : "; those there are, " + String.join(", ", others) + ", are for others"),
                outbox,
                settings,
                others);
    }

    /** Creates the exception for the case that each of several transaction managers may be the right one. */
    static MissingTransactionManagerException several(String outbox, EngineSettings settings, List<String> possible) {
        return new MissingTransactionManagerException(
                "It cannot be told which transaction manager is for the DataSource of outbox " + outbox + ": "
                        + String.join(", ", possible) + " may be",
                outbox,
                settings,
                possible);
    }

    private MissingTransactionManagerException(
            String message, String outbox, EngineSettings settings, List<String> others) {
        super(message);
        this.outbox = outbox;
        this.others = List.copyOf(others);
        this.property = settings.check().name("transaction-manager");
        this.roleProperty = settings.check().name("role");
    }

    String outbox() {
        return outbox;
    }

    List<String> others() {
        return others;
    }

    String property() {
        return property;
    }

    String roleProperty() {
        return roleProperty;
    }
}
