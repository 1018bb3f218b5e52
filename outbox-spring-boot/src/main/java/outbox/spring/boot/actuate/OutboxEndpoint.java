package outbox.spring.boot.actuate;

import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;

import java.util.Map;
import java.util.function.Supplier;

/** The actuator endpoint of the outboxes for JMX. Over HTTP, {@link OutboxWebEndpoint} replaces it. */
@Endpoint(id = "outbox")
class OutboxEndpoint extends EndpointMethods<Map<String, Object>> {

    OutboxEndpoint(OutboxOperations operations) {
        super(operations);
    }

    @Override
    Map<String, Object> answer(Supplier<Map<String, Object>> operation) {
        try {
            return operation.get();
        } catch (RefusedOperationException e) {
            throw new InvalidEndpointRequestException(e.text(), e.text(), e);
        }
    }
}
