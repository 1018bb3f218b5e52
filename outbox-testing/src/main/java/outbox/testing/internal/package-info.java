/** What the packages of this module share: child processes, addresses, and servers that are missing. No API. */
@NullMarked
package outbox.testing.internal;

import org.jspecify.annotations.NullMarked;
