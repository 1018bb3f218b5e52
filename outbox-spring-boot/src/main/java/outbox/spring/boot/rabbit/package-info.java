/** Auto-configuration of the delivery to RabbitMQ. */
@NullMarked
package outbox.spring.boot.rabbit;

import org.jspecify.annotations.NullMarked;
