package outbox.rabbitmq;

import outbox.OutboxException;

import java.util.List;

/** Exchanges or queues exist otherwise than described, or the broker refuses to declare or bind them. Nothing was changed or deleted; what was created before, if anything, the message names. */
public final class RabbitTopologyException extends OutboxException {

    private static final long serialVersionUID = 1L;

    @SuppressWarnings("serial") // an unmodifiable list of strings is serializable
    private final List<String> differences;

    RabbitTopologyException(List<String> differences, List<String> created) {
        super(
                "RabbitMQ refuses the topology: " + String.join("; ", differences)
                        + ". Change the description of what exists otherwise, or empty and delete that by hand; grant the user what access is refused to; declare what is missing. "
                        + (created.isEmpty() ? "Nothing was created." : "Created was " + String.join(", ", created)),
                null);
        this.differences = List.copyOf(differences);
    }

    /** For each exchange, queue or binding its name and what the broker says. */
    public List<String> differences() {
        return differences;
    }
}
