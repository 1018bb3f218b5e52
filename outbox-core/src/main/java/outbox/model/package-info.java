/** The types that a store returns: rows and their statuses. */
@NullMarked
package outbox.model;

import org.jspecify.annotations.NullMarked;
