/** Finds facts in business tables whose event or effect is missing, and writes the event. */
@NullMarked
package outbox.reconcile;

import org.jspecify.annotations.NullMarked;
