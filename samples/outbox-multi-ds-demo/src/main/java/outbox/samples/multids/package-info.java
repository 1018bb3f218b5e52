/** Two databases in one process, each with an outbox of its own. */
@NullMarked
package outbox.samples.multids;

import org.jspecify.annotations.NullMarked;
