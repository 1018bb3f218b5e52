/** The header codec that the specification names. Do not add other classes here. */
@NullMarked
package outbox.util;

import org.jspecify.annotations.NullMarked;
