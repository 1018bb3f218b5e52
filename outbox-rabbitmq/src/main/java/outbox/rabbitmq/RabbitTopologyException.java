package outbox.rabbitmq;

import outbox.OutboxException;

import java.util.List;

/** Exchanges or queues exist otherwise than described, or the broker does not let them be declared. Nothing was created, changed or deleted. */
public final class RabbitTopologyException extends OutboxException {

    private static final long serialVersionUID = 1L;

    @SuppressWarnings("serial") // an unmodifiable list of strings is serializable
    private final List<String> differences;

    RabbitTopologyException(List<String> differences) {
        super(
                "RabbitMQ has something else than the topology describes. Change the description, or empty and delete it by hand: "
                        + String.join("; ", differences),
                null);
        this.differences = List.copyOf(differences);
    }

    /** For each exchange or queue its name and what the broker says. */
    public List<String> differences() {
        return differences;
    }
}
