/** Auto-configuration of reconcile jobs. */
@NullMarked
package outbox.spring.boot.reconcile;

import org.jspecify.annotations.NullMarked;
