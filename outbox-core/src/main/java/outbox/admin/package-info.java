/** What an operator may ask and do: statistics, search, replay, discard. */
@NullMarked
package outbox.admin;

import org.jspecify.annotations.NullMarked;
