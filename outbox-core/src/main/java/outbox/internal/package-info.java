/** Parts shared by the packages of this module; not API, may change at any time. */
@NullMarked
package outbox.internal;

import org.jspecify.annotations.NullMarked;
