/** A REST API on Spring Boot. {@link outbox.samples.spring.OutboxConfiguration} wires the library, {@link outbox.samples.spring.OrderService} uses it. */
@NullMarked
package outbox.samples.spring;

import org.jspecify.annotations.NullMarked;
