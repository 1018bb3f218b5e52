/** Support for tests of Spring Boot applications that use an outbox. */
@NullMarked
package outbox.spring.boot.test;

import org.jspecify.annotations.NullMarked;
