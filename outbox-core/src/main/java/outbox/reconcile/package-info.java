/** Finds facts in business tables whose event never came, or whose effect is missing, and writes the event. */
@NullMarked
package outbox.reconcile;

import org.jspecify.annotations.NullMarked;
