/** A payload codec for Jackson 3. */
@NullMarked
package outbox.jackson3;

import org.jspecify.annotations.NullMarked;
