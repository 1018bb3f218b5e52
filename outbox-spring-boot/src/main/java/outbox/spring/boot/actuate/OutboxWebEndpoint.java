package outbox.spring.boot.actuate;

import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;

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
class OutboxWebEndpoint extends EndpointMethods<WebEndpointResponse<Map<String, Object>>> {

    OutboxWebEndpoint(OutboxOperations operations) {
        super(operations);
    }

    @Override
    WebEndpointResponse<Map<String, Object>> answer(Supplier<Map<String, Object>> operation) {
        try {
            return new WebEndpointResponse<>(operation.get());
        } catch (RefusedOperationException e) {
            return new WebEndpointResponse<>(Map.of("error", e.text()), e.status());
        }
    }
}
