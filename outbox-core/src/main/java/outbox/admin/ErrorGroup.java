package outbox.admin;

import java.time.Instant;
import java.util.List;

/**
 * Dead events whose last errors differ only in identifiers, numbers and quoted values. Such errors usually have the
 * same cause.
 *
 * @param fingerprint identifies the group in {@link AdminRequest.Builder#errorFingerprint}
 * @param error the last error of one event, as a list shows it; empty if the events have no error
 * @param count the number of events
 * @param eventTypes the types of the events, sorted
 * @param oldest when the first of the events ended, or when it was stored if the table does not contain that time
 * @param newest when the last of the events ended
 * @param exampleId the id of the event that was stored last
 */
public record ErrorGroup(
        String fingerprint,
        String error,
        long count,
        List<String> eventTypes,
        Instant oldest,
        Instant newest,
        String exampleId) {

    public ErrorGroup {
        eventTypes = eventTypes.stream().sorted().toList();
    }
}
