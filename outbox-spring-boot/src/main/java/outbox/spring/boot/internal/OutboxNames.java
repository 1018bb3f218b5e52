package outbox.spring.boot.internal;

import org.springframework.beans.factory.ObjectProvider;
import outbox.spring.boot.OutboxInstance;

import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Refuses names of outboxes that do not exist. */
public final class OutboxNames {

    /**
     * A place that names an outbox.
     *
     * @param origin the description of the place in error messages
     */
    public record Use(String outbox, String origin) {}

    private OutboxNames() {}

    public static void require(ObjectProvider<OutboxInstance> outboxes, Stream<Use> uses) {
        Set<String> names = outboxes.stream().map(OutboxInstance::name).collect(Collectors.toCollection(TreeSet::new));
        uses.filter(use -> !names.contains(use.outbox())).findFirst().ifPresent(use -> {
            throw new IllegalStateException(
                    use.origin() + " is for outbox '" + use.outbox() + "', which is not there; there are " + names);
        });
    }
}
