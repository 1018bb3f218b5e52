/**
 * The ports of the outbox: transactions, connections, stores and metrics. Implement them to support
 * another environment.
 */
@NullMarked
package outbox.spi;

import org.jspecify.annotations.NullMarked;
