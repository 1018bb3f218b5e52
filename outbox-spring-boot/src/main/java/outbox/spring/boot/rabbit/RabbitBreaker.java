package outbox.spring.boot.rabbit;

import org.jspecify.annotations.Nullable;
import outbox.dispatch.CircuitBreaker;

/**
 * Wraps the circuit breaker of the broker, so that it is not confused with breaker beans of the application.
 *
 * @param breaker null if it is disabled
 */
record RabbitBreaker(@Nullable CircuitBreaker breaker) {}
