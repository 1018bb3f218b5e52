/** The mapping from events to listeners. */
@NullMarked
package outbox.registry;

import org.jspecify.annotations.NullMarked;
