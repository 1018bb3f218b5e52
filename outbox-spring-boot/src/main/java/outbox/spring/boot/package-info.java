/** What an application uses of its auto-configured outboxes. */
@NullMarked
package outbox.spring.boot;

import org.jspecify.annotations.NullMarked;
