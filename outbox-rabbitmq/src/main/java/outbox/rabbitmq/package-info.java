/** A RabbitMQ transport that waits for publisher confirms, consumers, dead-letter replay, topology and delays. */
@NullMarked
package outbox.rabbitmq;

import org.jspecify.annotations.NullMarked;
