/** Explains why an application cannot start with its outbox. */
@NullMarked
package outbox.spring.boot.diagnostics;

import org.jspecify.annotations.NullMarked;
