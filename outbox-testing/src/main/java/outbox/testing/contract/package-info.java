/** Test suites that every store must pass, as abstract JUnit classes, and the table that they run on. */
@NullMarked
package outbox.testing.contract;

import org.jspecify.annotations.NullMarked;
