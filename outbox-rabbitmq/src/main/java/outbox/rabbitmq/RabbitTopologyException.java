package outbox.rabbitmq;

import outbox.OutboxException;

import java.util.List;

/**
 * Exchanges or queues exist with other settings, or the broker refused a declaration or binding. Nothing was changed
 * or deleted. The message lists what was created before the failure.
 */
public final class RabbitTopologyException extends OutboxException {

    private static final long serialVersionUID = 1L;

    @SuppressWarnings("serial") // an unmodifiable list of strings is serializable
    private final List<String> differences;

    RabbitTopologyException(List<String> differences, List<String> created) {
        super(
                "RabbitMQ refuses the topology: " + String.join("; ", differences)
                        + ". If it exists with other settings, change the definition, or"
                        + " empty and delete it by hand. If access is refused, grant the permission."
                        + " If it is missing, declare it. "
                        + (created.isEmpty() ? "Nothing was created." : "Created: " + String.join(", ", created)),
                null);
        this.differences = List.copyOf(differences);
    }

    /** Returns one entry per refused exchange, queue or binding: its name and the reply of the broker. */
    public List<String> differences() {
        return differences;
    }
}
