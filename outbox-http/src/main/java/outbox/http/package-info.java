/** A transport that posts events to an HTTP endpoint as CloudEvents, and what a receiver needs to trust them. */
@NullMarked
package outbox.http;

import org.jspecify.annotations.NullMarked;
