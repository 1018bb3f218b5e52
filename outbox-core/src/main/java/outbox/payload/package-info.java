/** Payloads as Java types, with conversion of older versions. */
@NullMarked
package outbox.payload;

import org.jspecify.annotations.NullMarked;
