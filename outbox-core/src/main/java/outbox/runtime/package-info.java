/** Connects the parts that deliver the events of one store, and closes them in the right order. */
@NullMarked
package outbox.runtime;

import org.jspecify.annotations.NullMarked;
