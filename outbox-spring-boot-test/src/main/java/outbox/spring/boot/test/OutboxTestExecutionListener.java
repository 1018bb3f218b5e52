package outbox.spring.boot.test;

import org.springframework.test.context.TestContext;
import org.springframework.test.context.TestContextAnnotationUtils;
import org.springframework.test.context.support.AbstractTestExecutionListener;
import outbox.testing.TestOutbox;

/**
 * Empties the outboxes of a test class with {@link OutboxTest} before each test, outside the transaction
 * of the test.
 */
final class OutboxTestExecutionListener extends AbstractTestExecutionListener {

    private static final int BEFORE_TRANSACTIONS = 3900; // test transactions begin at order 4000

    @Override
    public int getOrder() {
        return BEFORE_TRANSACTIONS;
    }

    @Override
    public void beforeTestMethod(TestContext test) {
        if (TestContextAnnotationUtils.hasAnnotation(test.getTestClass(), OutboxTest.class)) {
            test.getApplicationContext().getBeanProvider(TestOutbox.class).stream()
                    .forEach(TestOutbox::clear);
        }
    }
}
