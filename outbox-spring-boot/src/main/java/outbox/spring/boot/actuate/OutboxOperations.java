package outbox.spring.boot.actuate;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;
import outbox.admin.AdminAction;
import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import outbox.admin.Backlog;
import outbox.admin.EventQuery;
import outbox.admin.OutboxAdmin;
import outbox.admin.OutboxStatistics;
import outbox.admin.OutboxStatistics.TypeCount;
import outbox.admin.PauseRequest;
import outbox.spring.boot.OutboxInstance;

import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The operations of the endpoint, for HTTP and JMX. Numbers of the table are cached, and a request waits for them
 * only for a limited time. All operations together use at most {@value OperationGate#PLACES} connections of the
 * application, and each statement has a time limit. The operations that change events have the same rules as the
 * {@code outbox} command.
 */
final class OutboxOperations {

    private static final Duration KEEP = Duration.ofSeconds(1);
    // the numbers are read on a separate thread
    private static final Duration READING_LIMIT = Duration.ofSeconds(30);
    private static final Duration PATIENCE = Duration.ofSeconds(1);
    // SQL states of a canceled query; the second is MariaDB's
    private static final Set<String> TIME_IS_UP = Set.of("57014", "70100");
    private static final List<AdminAction> ACTIONS =
            List.of(AdminAction.PAUSE, AdminAction.RESUME, AdminAction.REPLAY, AdminAction.DISCARD);

    private final Supplier<List<OutboxInstance>> instances;
    private final OutboxEndpointProperties properties;
    private final Map<String, TimedReading<Backlog>> backlogs = new ConcurrentHashMap<>(); // by outbox
    private final Map<String, TimedReading<OutboxStatistics>> statistics = new ConcurrentHashMap<>(); // by outbox
    private final OperationGate gate = new OperationGate();

    OutboxOperations(Supplier<List<OutboxInstance>> instances, OutboxEndpointProperties properties) {
        this.instances = instances;
        this.properties = properties;
    }

    /** Returns all outboxes, without values that need a read of the whole table. */
    Map<String, Object> outboxes() {
        Map<String, Object> outboxes = new LinkedHashMap<>();
        instances.get().forEach(outbox -> outboxes.put(outbox.name(), summary(outbox)));
        return Map.of("outboxes", outboxes);
    }

    private View summary(OutboxInstance outbox) {
        View view = new View().with("table", outbox.table());
        TimedReading.Answer<Backlog> answer = backlogs.computeIfAbsent(
                        outbox.name(),
                        name -> new TimedReading<>(
                                name + "-endpoint", reading(outbox, OutboxAdmin::backlog), KEEP, properties.timeout()))
                .get();
        Backlog backlog = answer.value();
        if (backlog != null) {
            view.putAll(RelayView.backlog(backlog));
        } else {
            view.with("failure", answer.failure());
        }
        view.putAll(RelayView.of(outbox));
        return view;
    }

    private <T> Supplier<T> reading(OutboxInstance outbox, Function<OutboxAdmin, T> question) {
        return () -> gate.run(READING_LIMIT, () -> question.apply(admin(outbox, READING_LIMIT)));
    }

    private static OutboxAdmin admin(OutboxInstance outbox, Duration limit) {
        return new OutboxAdmin(new TimeLimitedConnections(outbox.connections(), limit), outbox.store());
    }

    /** Returns one outbox, with its counts by type and status. */
    Map<String, Object> outbox(String name) {
        OutboxInstance outbox = require(name);
        View view = summary(outbox);
        TimedReading.Answer<OutboxStatistics> answer = statistics
                .computeIfAbsent(
                        name,
                        key -> new TimedReading<>(
                                key + "-statistics",
                                reading(outbox, OutboxAdmin::statistics),
                                properties.keepStatistics(),
                                properties.timeout()))
                .get();
        OutboxStatistics counts = answer.value();
        return view.with("statistics", counts != null ? view(counts) : new View().with("failure", answer.failure()));
    }

    private static View view(OutboxStatistics counts) {
        View byStatus = new View();
        counts.byStatus().forEach((status, count) -> byStatus.with(status.name(), count));
        Map<String, Map<String, Long>> byType = new LinkedHashMap<>();
        for (TypeCount some : counts.byType()) {
            byType.computeIfAbsent(some.eventType(), type -> new LinkedHashMap<>())
                    .put(some.status().map(Enum::name).orElse("unknown " + some.statusCode()), some.count());
        }
        return new View().with("at", counts.at()).with("byStatus", byStatus).with("byType", byType);
    }

    Map<String, Object> events(String name, EventSearch search, @Nullable Integer limit, @Nullable String cursor) {
        return asked(require(name), admin -> {
            EventQuery.Page page = admin.find(search.query(limit, cursor));
            View view = new View();
            view.put("events", page.events().stream().map(EventView::of).toList());
            EventQuery.Cursor next = page.next();
            return view.with("next", next == null ? null : next.text());
        });
    }

    Map<String, Object> event(String name, String eventId) {
        return asked(require(name), admin -> admin.find(eventId))
                .map(details ->
                        EventView.of(details, properties.showPayload() == OutboxEndpointProperties.ShowPayload.ALWAYS))
                .orElseThrow(() -> new RefusedOperationException(
                        RefusedOperationException.NOT_FOUND,
                        "Outbox " + name + " has no event with the id " + eventId));
    }

    Map<String, Object> act(String name, String action, Wish wish) {
        if (!properties.writesEnabled()) {
            throw new RefusedOperationException(
                    RefusedOperationException.FORBIDDEN,
                    "The endpoint only reads. Set outbox.endpoint.writes-enabled=true to let it " + action);
        }
        OutboxInstance outbox = require(name);
        AdminAction wanted = Arrays.stream(AdminAction.values())
                .filter(some -> ACTIONS.contains(some)
                        && some.name().toLowerCase(Locale.ROOT).equals(action))
                .findFirst()
                .orElseThrow(() -> new RefusedOperationException(
                        RefusedOperationException.NOT_FOUND,
                        "There is no action '" + action + "': it is pause, resume, replay or discard"));
        return asked(
                outbox,
                admin -> view(
                        switch (wanted) {
                            case PAUSE -> admin.pause(wish.pause());
                            case RESUME -> admin.resume(wish.pause());
                            case REPLAY -> admin.replay(wish.replay());
                            default -> admin.discard(wish.discard());
                        }));
    }

    private static View view(AdminResult result) {
        return new View()
                .with("requestId", result.requestId())
                .with("action", result.action())
                .with("dryRun", result.dryRun())
                .with("matched", result.matched())
                .with("affected", result.affected())
                .with("complete", result.complete())
                .with("repeated", result.repeated());
    }

    private OutboxInstance require(String name) {
        return instances.get().stream()
                .filter(outbox -> outbox.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new RefusedOperationException(
                        RefusedOperationException.NOT_FOUND, "There is no outbox with the name " + name));
    }

    private <T> T asked(OutboxInstance outbox, Function<OutboxAdmin, T> question) {
        try {
            return gate.run(PATIENCE, () -> question.apply(admin(outbox, properties.timeout())));
        } catch (IllegalArgumentException | IllegalStateException e) { // wrong value, or no such capability
            throw new RefusedOperationException(RefusedOperationException.BAD_REQUEST, String.valueOf(e.getMessage()));
        } catch (OutboxException e) {
            throw new RefusedOperationException(RefusedOperationException.UNAVAILABLE, e.getMessage() + hint(e));
        }
    }

    private static String hint(OutboxException failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLTimeoutException
                    || cause instanceof SQLException sql && TIME_IS_UP.contains(String.valueOf(sql.getSQLState()))) {
                return ". A statement of the endpoint may run no longer than outbox.endpoint.timeout. Narrow"
                        + " the filter, or use the outbox command";
            }
        }
        return "";
    }

    /**
     * A request of an operator.
     *
     * @param by who requests it; required
     * @param reason why; required
     * @param confirm whether to execute it; otherwise the operation only returns what it would do
     * @param requestId makes repeated requests harmless; null to generate a new one
     * @param listener of a pause: the listener to pause; of a replay: the only listener that may receive the events
     * @param events which events; of a pause only the type
     * @param cap the maximum number of events to change; required with a filter
     * @param rate of a replay: how many events become due per second; required with a filter
     */
    record Wish(
            @Nullable String by,
            @Nullable String reason,
            boolean confirm,
            @Nullable String requestId,
            @Nullable String listener,
            EventSearch events,
            @Nullable Integer cap,
            @Nullable Integer rate) {

        PauseRequest pause() {
            String type = events.type();
            if (type != null && listener != null) {
                throw new IllegalArgumentException("type or listener, not both");
            }
            if (!events.equals(EventSearch.ofType(type)) || cap != null || rate != null) {
                throw new IllegalArgumentException(
                        "What is paused is an outbox, a type or a listener; it takes no other filter, cap or rate");
            }
            PauseRequest.Builder request = type != null
                    ? PauseRequest.type(type)
                    : listener != null ? PauseRequest.listener(listener) : PauseRequest.outbox();
            request.actor(required("by", by)).reason(required("reason", reason)).confirmed(confirm);
            if (requestId != null) {
                request.requestId(requestId);
            }
            return request.build();
        }

        AdminRequest replay() {
            AdminRequest.Builder request = change();
            if (rate == null && events.eventId() == null) {
                throw new IllegalArgumentException("A filter needs 'rate': how many events become due per second");
            }
            return request.build();
        }

        AdminRequest discard() {
            return change().build();
        }

        /**
         * Selects one event by its id, or the events that match a filter. A filter requires a cap, as
         * in the command.
         */
        private AdminRequest.Builder change() {
            if (events.eventId() == null && !events.isNarrow()) {
                throw new IllegalArgumentException("Say which events are meant: by eventId, or by one or more of type,"
                        + " aggregateType, aggregateId, key, error, from and before. A status alone is no filter");
            }
            if (events.eventId() == null && cap == null) {
                throw new IllegalArgumentException("A filter needs 'cap': how many events are changed at most");
            }
            AdminRequest.Builder request = AdminRequest.builder()
                    .filter(events.filter())
                    .actor(required("by", by))
                    .reason(required("reason", reason))
                    .cap(cap == null ? 1 : cap)
                    .confirmed(confirm);
            if (requestId != null) {
                request.requestId(requestId);
            }
            if (rate != null) {
                request.eventsPerSecond(rate);
            }
            if (listener != null) {
                request.toListener(listener);
            }
            return request;
        }

        private static String required(String name, @Nullable String value) {
            if (value == null) {
                throw new IllegalArgumentException("'" + name + "' is required");
            }
            return value;
        }
    }
}
