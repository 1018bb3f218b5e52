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
 * Prepares the outboxes of the application for tests: nothing is delivered in the background, and for each outbox
 * there is a {@link outbox.testing.TestOutbox} bean, which is emptied before each test. Use it together with
 * {@code @SpringBootTest}, or with a slice such as {@code @JdbcTest}, to which it adds the outbox.
 *
 * <pre>{@code
 * @SpringBootTest
 * @OutboxTest
 * class OrdersTest {
 *     @Autowired TestOutbox outbox;
 * }
 * }</pre>
 *
 * <p>The test uses the writer, dispatcher, listeners and settings of the application, with one worker, so that
 * events are processed one after the other. The poller and the purge do not run. If the test defines a
 * {@code TestClock} bean, all outboxes use it. In a {@code @Transactional} test, written events can be asserted but
 * not delivered.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@ImportAutoConfiguration
@Import({OutboxTestSupport.class, TestOutboxRegistrar.class})
public @interface OutboxTest {}
