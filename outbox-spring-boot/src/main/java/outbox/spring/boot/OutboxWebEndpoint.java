package outbox.spring.boot;

import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;
import org.springframework.lang.Nullable;

import java.util.Map;
import java.util.function.Supplier;

/**
 * The actuator endpoint over HTTP. It differs from the JMX endpoint in its errors: it returns a status and a reason
 * in the body. By default, an application does not show the message of an exception.
 *
 * <pre>
 *  GET  /actuator/outbox                                all outboxes
 *  GET  /actuator/outbox/{outbox}                       one, with counts by type and status
 *  GET  /actuator/outbox/{outbox}/events?status=DEAD    a page of its events
 *  GET  /actuator/outbox/{outbox}/events/{id}           one event
 *  POST /actuator/outbox/{outbox}/{pause|resume|replay|discard}
 * </pre>
 */
@EndpointWebExtension(endpoint = OutboxEndpoint.class)
@SuppressWarnings("deprecation") // both Spring Boot 3 and 4 accept this annotation for optional parameters
class OutboxWebEndpoint {

    private final OutboxOperations operations;

    OutboxWebEndpoint(OutboxOperations operations) {
        this.operations = operations;
    }

    @ReadOperation
    WebEndpointResponse<Map<String, Object>> outboxes() {
        return answer(operations::outboxes);
    }

    @ReadOperation
    WebEndpointResponse<Map<String, Object>> outbox(@Selector String outbox) {
        return answer(() -> operations.outbox(outbox));
    }

    @ReadOperation
    WebEndpointResponse<Map<String, Object>> search(
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
        return answer(() -> OutboxEndpoint.search(operations, outbox, what, search, limit, cursor));
    }

    @ReadOperation
    WebEndpointResponse<Map<String, Object>> event(
            @Selector String outbox, @Selector String what, @Selector String eventId) {
        return answer(() -> OutboxEndpoint.event(operations, outbox, what, eventId));
    }

    @WriteOperation
    WebEndpointResponse<Map<String, Object>> act(
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
                OutboxEndpoint.who(securityContext, by),
                reason,
                Boolean.TRUE.equals(confirm),
                requestId,
                listener,
                new EventSearch(eventId, type, status, aggregateType, aggregateId, error, key, from, before),
                cap,
                rate);
        return answer(() -> operations.act(outbox, action, wish));
    }

    private static WebEndpointResponse<Map<String, Object>> answer(Supplier<Map<String, Object>> operation) {
        try {
            return new WebEndpointResponse<>(operation.get());
        } catch (RefusedOperationException e) {
            return new WebEndpointResponse<>(Map.of("error", e.text()), e.status());
        }
    }
}
