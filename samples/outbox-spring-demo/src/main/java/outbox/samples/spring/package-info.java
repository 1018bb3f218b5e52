/**
 * A REST API on Spring Boot with the starter: {@link outbox.samples.spring.OrderService} writes events,
 * {@link outbox.samples.spring.Shipping} receives them.
 */
@NullMarked
package outbox.samples.spring;

import org.jspecify.annotations.NullMarked;
