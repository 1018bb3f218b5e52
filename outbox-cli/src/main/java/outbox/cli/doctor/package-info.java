/** Checks that find problems which break an outbox without an error, and explain how to repair them. */
@NullMarked
package outbox.cli.doctor;

import org.jspecify.annotations.NullMarked;
