/** The {@code outbox} command: a thin shell over the library. */
@NullMarked
package outbox.cli;

import org.jspecify.annotations.NullMarked;
