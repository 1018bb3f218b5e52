/** Payloads as Java types, whatever their version. */
@NullMarked
package outbox.payload;

import org.jspecify.annotations.NullMarked;
