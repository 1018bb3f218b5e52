/** The API for business code: the writer, the envelope, listeners, and the names of events and aggregates. */
@NullMarked
package outbox;

import org.jspecify.annotations.NullMarked;
