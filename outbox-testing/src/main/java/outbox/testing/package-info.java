/**
 * TestOutbox for tests of applications: it delivers on demand, on a clock that the test moves, and has assertions
 * about the events.
 *
 * <p>Nothing in this module is for production. The packages below this one serve tests of stores, transports and this
 * project: contracts, servers, faults and metrics. If a class needs a server or a library that is missing, its message
 * names it and what to install.
 */
@NullMarked
package outbox.testing;

import org.jspecify.annotations.NullMarked;
