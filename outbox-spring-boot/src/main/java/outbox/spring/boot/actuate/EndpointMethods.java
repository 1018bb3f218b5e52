package outbox.spring.boot.actuate;

import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.lang.Nullable;

import java.security.Principal;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The methods of the actuator endpoint. Over HTTP and JMX they differ only in how a refusal is returned.
 *
 * @param <R> the result of an operation
 */
@SuppressWarnings("deprecation") // both Spring Boot 3 and 4 accept this annotation for optional parameters
abstract class EndpointMethods<R> {

    private static final String EVENTS = "events";

    private final OutboxOperations operations;

    EndpointMethods(OutboxOperations operations) {
        this.operations = operations;
    }

    /** Runs the operation, and returns its result or how it was refused. */
    abstract R answer(Supplier<Map<String, Object>> operation);

    @ReadOperation
    R outboxes() {
        return answer(operations::outboxes);
    }

    @ReadOperation
    R outbox(@Selector String outbox) {
        return answer(() -> operations.outbox(outbox));
    }

    @ReadOperation
    R search(
            @Selector String outbox,
            @Selector String what,
            @Nullable String type,
            @Nullable String status,
            @Nullable String aggregateType,
            @Nullable String aggregateId,
            @Nullable String error,
            @Nullable String key,
            @Nullable String from,
            @Nullable String before,
            @Nullable Integer limit,
            @Nullable String cursor) {
        EventSearch search = new EventSearch(null, type, status, aggregateType, aggregateId, error, key, from, before);
        return answer(() -> {
            requireEvents(what);
            return operations.events(outbox, search, limit, cursor);
        });
    }

    @ReadOperation
    R event(@Selector String outbox, @Selector String what, @Selector String eventId) {
        return answer(() -> {
            requireEvents(what);
            return operations.event(outbox, eventId);
        });
    }

    @WriteOperation
    R act(
            SecurityContext securityContext,
            @Selector String outbox,
            @Selector String action,
            @Nullable String by,
            @Nullable String reason,
            @Nullable Boolean confirm,
            @Nullable String requestId,
            @Nullable String eventId,
            @Nullable String type,
            @Nullable String status,
            @Nullable String aggregateType,
            @Nullable String aggregateId,
            @Nullable String error,
            @Nullable String key,
            @Nullable String from,
            @Nullable String before,
            @Nullable String listener,
            @Nullable Integer cap,
            @Nullable Integer rate) {
        OutboxOperations.Wish wish = new OutboxOperations.Wish(
                who(securityContext, by),
                reason,
                Boolean.TRUE.equals(confirm),
                requestId,
                listener,
                new EventSearch(eventId, type, status, aggregateType, aggregateId, error, key, from, before),
                cap,
                rate);
        return answer(() -> operations.act(outbox, action, wish));
    }

    private static void requireEvents(String what) {
        if (!what.equals(EVENTS)) {
            throw new RefusedOperationException(
                    RefusedOperationException.NOT_FOUND, "There is no '" + what + "' of an outbox, but events");
        }
    }

    /** Returns the authenticated user; without authentication, the name in the request. */
    static @Nullable String who(SecurityContext securityContext, @Nullable String by) {
        Principal principal = securityContext.getPrincipal();
        return principal != null ? principal.getName() : by;
    }
}
