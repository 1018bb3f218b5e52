/** Auto-configuration of outboxes, of methods that receive events, of objects written as events, and of payloads. */
@NullMarked
package outbox.spring.boot.autoconfigure;

import org.jspecify.annotations.NullMarked;
