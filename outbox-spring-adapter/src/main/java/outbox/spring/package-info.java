/** Joins Spring's transactions to the outbox. */
@NullMarked
package outbox.spring;

import org.jspecify.annotations.NullMarked;
