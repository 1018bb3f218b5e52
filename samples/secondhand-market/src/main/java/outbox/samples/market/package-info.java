/**
 * A second-hand market: orders over HTTP, their events through an outbox and RabbitMQ to consumers that handle each once. The starter wires the library
 * from {@code application.properties}; {@link outbox.samples.market.OrderService} and the consumers use it.
 */
@NullMarked
package outbox.samples.market;

import org.jspecify.annotations.NullMarked;
