package outbox.spring.boot;

import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.lang.Nullable;

import java.security.Principal;
import java.util.Map;
import java.util.function.Supplier;

/** The actuator endpoint of the outboxes for JMX. Over HTTP, {@link OutboxWebEndpoint} replaces it. */
@Endpoint(id = "outbox")
@SuppressWarnings("deprecation") // both Spring Boot 3 and 4 accept this annotation for optional parameters
class OutboxEndpoint {

    private static final String EVENTS = "events";

    private final OutboxOperations operations;

    OutboxEndpoint(OutboxOperations operations) {
        this.operations = operations;
    }

    @ReadOperation
    Map<String, Object> outboxes() {
        return refusing(operations::outboxes);
    }

    @ReadOperation
    Map<String, Object> outbox(@Selector String outbox) {
        return refusing(() -> operations.outbox(outbox));
    }

    @ReadOperation
    Map<String, Object> search(
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
        return refusing(() -> search(
                operations,
                outbox,
                what,
                new EventSearch(null, type, status, aggregateType, aggregateId, error, key, from, before),
                limit,
                cursor));
    }

    @ReadOperation
    Map<String, Object> event(@Selector String outbox, @Selector String what, @Selector String eventId) {
        return refusing(() -> event(operations, outbox, what, eventId));
    }

    @WriteOperation
    Map<String, Object> act(
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
        return refusing(() -> operations.act(outbox, action, wish));
    }

    static Map<String, Object> search(
            OutboxOperations operations,
            String outbox,
            String what,
            EventSearch search,
            @Nullable Integer limit,
            @Nullable String cursor) {
        requireEvents(what);
        return operations.events(outbox, search, limit, cursor);
    }

    static Map<String, Object> event(OutboxOperations operations, String outbox, String what, String eventId) {
        requireEvents(what);
        return operations.event(outbox, eventId);
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

    private static <T> T refusing(Supplier<T> operation) {
        try {
            return operation.get();
        } catch (RefusedOperationException e) {
            throw new InvalidEndpointRequestException(e.text(), e.text(), e);
        }
    }
}
