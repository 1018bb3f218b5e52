/** A payload codec for Jackson 2. */
@NullMarked
package outbox.jackson;

import org.jspecify.annotations.NullMarked;
