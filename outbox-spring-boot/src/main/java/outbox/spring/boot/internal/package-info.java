/** The outboxes of an application and their properties; used by the other packages of this module only. */
@NullMarked
package outbox.spring.boot.internal;

import org.jspecify.annotations.NullMarked;
