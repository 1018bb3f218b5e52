/** What a store hands out: rows and their statuses. */
@NullMarked
package outbox.model;

import org.jspecify.annotations.NullMarked;
