/** Payloads by Jackson. */
@NullMarked
package outbox.jackson;

import org.jspecify.annotations.NullMarked;
