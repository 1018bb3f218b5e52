/**
 * An outbox in memory: implements the same interfaces as a database store, with the guarantees that memory can give.
 */
@NullMarked
package outbox.memory;

import org.jspecify.annotations.NullMarked;
