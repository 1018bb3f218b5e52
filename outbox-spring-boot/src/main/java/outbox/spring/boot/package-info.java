/** Auto-configuration of outboxes for Spring Boot. */
@NullMarked
package outbox.spring.boot;

import org.jspecify.annotations.NullMarked;
