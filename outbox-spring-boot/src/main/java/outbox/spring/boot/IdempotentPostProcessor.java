package outbox.spring.boot;

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

/** Puts the inbox around methods with {@link Idempotent}, outside of their transaction, and refuses at the start those for which it could not do its part. */
final class IdempotentPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor
        implements SmartInitializingSingleton {

    private static final long serialVersionUID = 1L;

    private final transient IdempotentAdvice advice;
    private final transient Supplier<Inbox> inbox;
    private final transient ObjectProvider<InboxParts> table;
    private volatile boolean used; // written by whoever makes beans

    /** @param table of the inbox, unless the application has one of its own */
    IdempotentPostProcessor(IdempotentAdvice advice, Supplier<Inbox> inbox, ObjectProvider<InboxParts> table) {
        this.advice = advice;
        this.inbox = inbox;
        this.table = table;
        this.advisor = new DefaultPointcutAdvisor(new AnnotationMatchingPointcut(null, Idempotent.class, true), advice);
        setBeforeExistingAdvisors(true);
        setProxyTargetClass(true);
        setOrder(Ordered.LOWEST_PRECEDENCE - 1); // before those who register listeners, which must see the proxy
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

    /** An inbox that cannot be made is to be known now, not with the first message. */
    @Override
    public void afterSingletonsInstantiated() {
        if (used) {
            Objects.requireNonNull(inbox.get(), "inbox");
            table.ifAvailable(advice::checkConsumers);
        }
    }
}
