package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventFilter;
import outbox.internal.text.PrintableText;
import outbox.model.EventStatus;
import picocli.CommandLine.Option;

import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Arrays;
import java.util.Optional;

/** Selects events. An event must match all given conditions. */
final class FilterOptions {

    @Option(
            names = "--status",
            split = ",",
            paramLabel = "STATUS",
            description = "NEW, RETRY, DEAD or DONE; several by commas")
    private EventStatus[] statuses = {};

    @Option(names = "--type", paramLabel = "TYPE", description = "event type")
    private @Nullable String type;

    @Option(names = "--aggregate-type", paramLabel = "TYPE", description = "type of the aggregate")
    private @Nullable String aggregateType;

    @Option(names = "--aggregate-id", paramLabel = "ID", description = "id of the aggregate")
    private @Nullable String aggregateId;

    @Option(names = "--tenant", paramLabel = "ID", description = "id of the tenant")
    private @Nullable String tenant;

    @Option(names = "--key", paramLabel = "KEY", description = "key that the event was written with")
    private @Nullable String key;

    @Option(names = "--error", paramLabel = "TEXT", description = "the last error contains this text")
    private @Nullable String error;

    @Option(
            names = "--from",
            paramLabel = "TIME",
            description = "stored at this time or later, as in 2026-11-01T00:00:00Z")
    private @Nullable String from;

    @Option(names = "--before", paramLabel = "TIME", description = "stored before this time")
    private @Nullable String before;

    /** Whether there is a condition other than the status. */
    boolean isNarrow() {
        return type != null
                || aggregateType != null
                || aggregateId != null
                || tenant != null
                || key != null
                || error != null
                || from != null
                || before != null;
    }

    boolean hasStatus() {
        return statuses.length > 0;
    }

    boolean isEmpty() {
        return !isNarrow() && statuses.length == 0;
    }

    EventFilter filter() {
        return isEmpty() ? EventFilter.all() : builder().build();
    }

    EventFilter.Builder builder() {
        EventFilter.Builder filter = EventFilter.builder();
        if (statuses.length > 0) {
            filter.status(statuses[0], Arrays.copyOfRange(statuses, 1, statuses.length));
        }
        Optional.ofNullable(type).ifPresent(filter::eventType);
        Optional.ofNullable(aggregateType).ifPresent(filter::aggregateType);
        Optional.ofNullable(aggregateId).ifPresent(filter::aggregateId);
        Optional.ofNullable(tenant).ifPresent(filter::tenantId);
        Optional.ofNullable(key).ifPresent(filter::dedupKey);
        Optional.ofNullable(error).ifPresent(filter::errorContains);
        Optional.ofNullable(from).map(text -> time("--from", text)).ifPresent(filter::createdFrom);
        Optional.ofNullable(before).map(text -> time("--before", text)).ifPresent(filter::createdBefore);
        return filter;
    }

    private static Instant time(String flag, String text) {
        try {
            return Instant.parse(text);
        } catch (DateTimeParseException e) {
            throw new IllegalArgumentException(
                    flag + " must be a time in UTC, as in 2026-11-01T00:00:00Z, but is " + PrintableText.of(text), e);
        }
    }
}
