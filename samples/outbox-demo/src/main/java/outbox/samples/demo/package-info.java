/**
 * A small shop on plain JDBC. Start reading at {@link outbox.samples.demo.Shop};
 * {@link outbox.samples.demo.ShopOutbox} wires the library.
 */
@NullMarked
package outbox.samples.demo;

import org.jspecify.annotations.NullMarked;
