/** Queues and workers that run listeners, and everything that decides about the outcome of a run. */
@NullMarked
package outbox.dispatch;

import org.jspecify.annotations.NullMarked;
