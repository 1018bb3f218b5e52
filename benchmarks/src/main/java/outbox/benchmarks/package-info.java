/** Compares the library with raw JDBC and with its peers, on real databases. */
@NullMarked
package outbox.benchmarks;

import org.jspecify.annotations.NullMarked;
