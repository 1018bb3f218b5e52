/** The DDL files. */
@NullMarked
package outbox.jdbc.internal.schema;

import org.jspecify.annotations.NullMarked;
