/** Deletion of terminal events past their retention. */
@NullMarked
package outbox.purge;

import org.jspecify.annotations.NullMarked;
