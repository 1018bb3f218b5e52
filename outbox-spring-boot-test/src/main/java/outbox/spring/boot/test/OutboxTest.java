package outbox.spring.boot.test;

import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.context.annotation.Import;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Puts the outboxes of the application under test: nothing is delivered in the background, and for each outbox there is a bean {@link outbox.testing.TestOutbox}, empty before each test. Beside
 * {@code @SpringBootTest}, or beside a slice such as {@code @JdbcTest}, to which it adds the outbox.
 *
 * <pre>{@code
 * @SpringBootTest
 * @OutboxTest
 * class OrdersTest {
 *     @Autowired TestOutbox outbox;
 * }
 * }</pre>
 *
 * <p>The application's own writer, dispatcher, listeners and settings are used, with one worker, so that events run one after the other; its poller and purge do not run. A {@code TestClock} that
 * the test has as a bean is used for all outboxes. In a test that is {@code @Transactional} written events can be asserted, but not delivered.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@ImportAutoConfiguration
@Import({OutboxTestSupport.class, TestOutboxRegistrar.class})
public @interface OutboxTest {}
