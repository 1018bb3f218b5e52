/**
 * Real servers, fault injection and child processes for tests of stores, transports and applications.
 *
 * <p>Nothing here is for production. If a class needs a server or a library that is missing, its message names it
 * and what to install.
 */
@NullMarked
package outbox.testing;

import org.jspecify.annotations.NullMarked;
