/** Queues and workers that run listeners, and the classes that decide the outcome of a run. */
@NullMarked
package outbox.dispatch;

import org.jspecify.annotations.NullMarked;
