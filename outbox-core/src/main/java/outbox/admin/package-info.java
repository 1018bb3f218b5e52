/** Operations for administrators: statistics, search, replay, discard. */
@NullMarked
package outbox.admin;

import org.jspecify.annotations.NullMarked;
