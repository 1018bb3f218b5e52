/** Auto-configuration of the delivery to HTTP endpoints. */
@NullMarked
package outbox.spring.boot.http;

import org.jspecify.annotations.NullMarked;
