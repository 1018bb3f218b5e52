package outbox.spring.boot.inbox;

import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.annotation.AnnotationMatchingPointcut;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ReflectionUtils.MethodFilter;
import outbox.inbox.Inbox;
import outbox.spring.Idempotent;

import java.util.Objects;
import java.util.function.Supplier;

/**
 * Wraps methods with {@link Idempotent} in the inbox, outside their transaction. The start fails if a method has the
 * annotation and the inbox cannot work for it.
 */
final class IdempotentPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor
        implements SmartInitializingSingleton {

    private static final long serialVersionUID = 1L;

    private final transient IdempotentAdvice advice;
    private final transient Supplier<Inbox> inbox;
    private final transient ObjectProvider<InboxParts> table;
    private volatile boolean used; // written by the thread that creates the bean, read when all singletons exist

    /** @param table the parts of the inbox; empty if the application defines its own inbox */
    IdempotentPostProcessor(IdempotentAdvice advice, Supplier<Inbox> inbox, ObjectProvider<InboxParts> table) {
        this.advice = advice;
        this.inbox = inbox;
        this.table = table;
        this.advisor = new DefaultPointcutAdvisor(new AnnotationMatchingPointcut(null, Idempotent.class, true), advice);
        setBeforeExistingAdvisors(true);
        setProxyTargetClass(true);
        // before post-processors that register listeners, because these must see the proxy
        setOrder(Ordered.LOWEST_PRECEDENCE - 1);
    }

    @Override
    protected boolean isEligible(Class<?> type) {
        if (!AnnotationUtils.isCandidateClass(type, Idempotent.class) || !super.isEligible(type)) {
            return false;
        }
        MethodFilter annotated = method -> AnnotatedElementUtils.hasAnnotation(method, Idempotent.class);
        MethodIntrospector.selectMethods(type, annotated).forEach(advice::read);
        used = true;
        return true;
    }

    /** Creates the inbox, so that a failure is reported at the start and not with the first message. */
    @Override
    public void afterSingletonsInstantiated() {
        if (used) {
            Objects.requireNonNull(inbox.get(), "inbox");
            table.ifAvailable(advice::checkConsumers);
        }
    }
}
