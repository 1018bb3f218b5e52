/** Classes shared by the packages of this module. Not part of the API; they may change at any time. */
@NullMarked
package outbox.internal;

import org.jspecify.annotations.NullMarked;
