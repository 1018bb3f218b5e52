/** Health and actuator endpoint of the outboxes. */
@NullMarked
package outbox.spring.boot.actuate;

import org.jspecify.annotations.NullMarked;
