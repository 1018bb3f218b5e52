/** A transport that posts events to an HTTP endpoint as CloudEvents, and a verifier for their receivers. */
@NullMarked
package outbox.http;

import org.jspecify.annotations.NullMarked;
