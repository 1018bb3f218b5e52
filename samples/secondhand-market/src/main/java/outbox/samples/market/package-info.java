/**
 * A second-hand market: orders over HTTP, and their events through an outbox and RabbitMQ to consumers that handle
 * each event once. The starter configures the library from {@code application.properties};
 * {@link outbox.samples.market.OrderService} and the consumers use it.
 */
@NullMarked
package outbox.samples.market;

import org.jspecify.annotations.NullMarked;
