/** The ports of the outbox: transactions, connections, stores and metrics. Implement them to bring another environment. */
@NullMarked
package outbox.spi;

import org.jspecify.annotations.NullMarked;
