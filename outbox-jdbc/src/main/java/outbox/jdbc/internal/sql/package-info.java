/** Parts of statements that know no store: columns, parameters, error codes, limits. */
@NullMarked
package outbox.jdbc.internal.sql;

import org.jspecify.annotations.NullMarked;
