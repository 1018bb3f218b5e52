package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.util.ReflectionUtils;
import outbox.EventEnvelope;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.ArrayList;
import java.util.List;

/**
 * Calls a listener method of a bean, through any proxy of the bean. The bean is looked up for each call, so it may
 * be lazy or scoped. Thread-safe.
 */
final class MethodCall {

    /** The method to call on beans of the class. */
    private record Invocable(Class<?> beanClass, Method method) {}

    private final BeanFactory beans;
    private final String beanName;
    private final Method method;
    private final List<ListenerParameter> parameters;
    private final PayloadReader payloads;
    private volatile @Nullable Invocable last; // written by any thread; a cache, so a lost update does no harm

    MethodCall(
            BeanFactory beans,
            String beanName,
            Method method,
            List<ListenerParameter> parameters,
            PayloadReader payloads) {
        this.beans = beans;
        this.beanName = beanName;
        this.method = method;
        this.parameters = parameters;
        this.payloads = payloads;
    }

    @Nullable
    Object on(EventEnvelope event) throws Exception {
        return invoke(arguments(event));
    }

    /**
     * Calls the method for several events, given the {@link #arguments} of each. List parameters receive one element
     * per event.
     */
    @Nullable
    Object on(List<@Nullable Object[]> events) throws Exception {
        @Nullable Object[] lists = new Object[parameters.size()];
        for (int i = 0; i < lists.length; i++) {
            List<@Nullable Object> list = new ArrayList<>(events.size());
            for (@Nullable Object[] arguments : events) {
                list.add(arguments[i]);
            }
            lists[i] = list;
        }
        return invoke(lists);
    }

    /** Returns the arguments of the method for this event. */
    @Nullable
    Object[] arguments(EventEnvelope event) {
        @Nullable Object[] arguments = new Object[parameters.size()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = parameters.get(i).of(event, payloads);
        }
        return arguments;
    }

    /**
     * Throws the original exception of the method. The retry rules must not see a wrapper from reflection or
     * from a proxy.
     */
    private @Nullable Object invoke(@Nullable Object[] arguments) throws Exception {
        Object bean = beans.getBean(beanName);
        try {
            return invocable(bean).invoke(bean, arguments);
        } catch (InvocationTargetException e) {
            Throwable thrown = e.getCause() instanceof UndeclaredThrowableException undeclared
                    ? undeclared.getUndeclaredThrowable()
                    : e.getCause();
            if (thrown instanceof Error error) {
                throw error;
            }
            throw thrown instanceof Exception exception ? exception : e;
        }
    }

    /** Throws if the method cannot be called on this bean. */
    void check(Object bean) {
        invocable(bean);
    }

    private Method invocable(Object bean) {
        Invocable known = last;
        if (known != null && known.beanClass() == bean.getClass()) {
            return known.method();
        }
        if (AopUtils.isCglibProxy(bean) && Modifier.isFinal(method.getModifiers())) {
            throw new IllegalStateException(
                    "it is final, so a proxy cannot pass the call to the bean: its fields would be empty."
                            + " Remove final");
        }
        Method found = AopUtils.selectInvocableMethod(method, bean.getClass());
        ReflectionUtils.makeAccessible(found);
        last = new Invocable(bean.getClass(), found);
        return found;
    }
}
