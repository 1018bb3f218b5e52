/** Events to RabbitMQ and from it: a transport that takes the broker's confirm as its word, topology, delay and consumers. */
@NullMarked
package outbox.rabbitmq;

import org.jspecify.annotations.NullMarked;
