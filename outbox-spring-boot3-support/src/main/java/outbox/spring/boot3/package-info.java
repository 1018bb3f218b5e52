/** The parts of the Spring Boot support that are specific to Spring Boot 3.5. */
@NullMarked
package outbox.spring.boot3;

import org.jspecify.annotations.NullMarked;
