/** What the library costs in memory, without a database. */
@NullMarked
package outbox.benchmarks.jmh;

import org.jspecify.annotations.NullMarked;
