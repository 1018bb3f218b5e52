/** An outbox in memory: the ports of the table, with what memory can promise. */
@NullMarked
package outbox.memory;

import org.jspecify.annotations.NullMarked;
