/** Two databases in one process, each with its own outbox. */
@NullMarked
package outbox.samples.multids;

import org.jspecify.annotations.NullMarked;
