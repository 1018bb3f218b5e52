/** Auto-configuration of the inbox and of methods with {@code @Idempotent}. */
@NullMarked
package outbox.spring.boot.inbox;

import org.jspecify.annotations.NullMarked;
