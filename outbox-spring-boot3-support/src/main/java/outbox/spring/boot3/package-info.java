/** What Spring Boot 3.5 needs in other words than Spring Boot 4. */
@NullMarked
package outbox.spring.boot3;

import org.jspecify.annotations.NullMarked;
