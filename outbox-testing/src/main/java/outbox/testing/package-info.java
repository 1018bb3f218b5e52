/**
 * Real servers, faults on purpose and child processes for tests of stores, transports and applications.
 *
 * <p>Nothing here is for production. What a class needs and cannot find (a server, a library) it names, with what to
 * install.
 */
@NullMarked
package outbox.testing;

import org.jspecify.annotations.NullMarked;
