/** What silently breaks an outbox, how it is found, and what to do about it. */
@NullMarked
package outbox.cli.doctor;

import org.jspecify.annotations.NullMarked;
