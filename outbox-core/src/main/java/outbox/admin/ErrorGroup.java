package outbox.admin;

import java.time.Instant;
import java.util.List;

/**
 * Dead events whose last errors differ in identifiers, numbers and quoted values only: usually those of one cause.
 *
 * @param fingerprint names the group, in {@link AdminRequest.Builder#errorFingerprint}
 * @param error the last error of one of them, as a list shows it; empty if they have none
 * @param count how many events
 * @param eventTypes their types, sorted
 * @param oldest when the first of them ended; that it was stored if the table does not tell
 * @param newest when the last of them ended
 * @param exampleId one of them: the one that was stored last
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
