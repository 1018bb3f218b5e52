/** Which listener receives which event. */
@NullMarked
package outbox.registry;

import org.jspecify.annotations.NullMarked;
