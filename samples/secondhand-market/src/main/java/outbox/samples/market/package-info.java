/**
 * A second-hand market: orders over HTTP, their events through an outbox and RabbitMQ to consumers that handle each once. {@link outbox.samples.market.OutboxConfiguration} and
 * {@link outbox.samples.market.RabbitConfiguration} wire the library, {@link outbox.samples.market.OrderService} and the consumers use it.
 */
@NullMarked
package outbox.samples.market;

import org.jspecify.annotations.NullMarked;
