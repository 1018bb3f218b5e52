/** Tests of Spring Boot applications that have an outbox. */
@NullMarked
package outbox.spring.boot.test;

import org.jspecify.annotations.NullMarked;
