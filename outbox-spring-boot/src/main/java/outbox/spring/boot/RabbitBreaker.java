package outbox.spring.boot;

import org.jspecify.annotations.Nullable;
import outbox.dispatch.CircuitBreaker;

/**
 * Tells the breaker of the broker from those of the application.
 *
 * @param breaker null if it is switched off
 */
record RabbitBreaker(@Nullable CircuitBreaker breaker) {}
