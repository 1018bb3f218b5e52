/** Faults for tests: of the network, of a JDBC driver, and processes to kill, freeze and resume. */
@NullMarked
package outbox.testing.fault;

import org.jspecify.annotations.NullMarked;
