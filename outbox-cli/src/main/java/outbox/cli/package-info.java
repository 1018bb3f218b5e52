/** The {@code outbox} command: a thin command line over the library. */
@NullMarked
package outbox.cli;

import org.jspecify.annotations.NullMarked;
