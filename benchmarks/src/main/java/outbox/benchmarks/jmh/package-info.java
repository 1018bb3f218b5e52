/** Benchmarks of the library in memory, without a database. */
@NullMarked
package outbox.benchmarks.jmh;

import org.jspecify.annotations.NullMarked;
