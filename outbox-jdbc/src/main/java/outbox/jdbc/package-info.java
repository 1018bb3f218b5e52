/** Event stores on plain JDBC, one class per database, and transactions without a framework. */
@NullMarked
package outbox.jdbc;

import org.jspecify.annotations.NullMarked;
