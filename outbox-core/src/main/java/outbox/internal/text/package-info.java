/** The logger of our modules, and the escaping of text that is not safe to print. Exported to these modules only. */
@NullMarked
package outbox.internal.text;

import org.jspecify.annotations.NullMarked;
