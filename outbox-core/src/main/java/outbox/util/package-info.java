/** The header codec that the specification names; nothing else belongs here. */
@NullMarked
package outbox.util;

import org.jspecify.annotations.NullMarked;
