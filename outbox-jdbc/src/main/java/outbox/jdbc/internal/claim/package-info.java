/** What a claim is: its terms, what it may take, and how a table shows who holds an event. */
@NullMarked
package outbox.jdbc.internal.claim;

import org.jspecify.annotations.NullMarked;
