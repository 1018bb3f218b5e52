/** Delivery in order, per aggregate. */
@NullMarked
package outbox.order;

import org.jspecify.annotations.NullMarked;
