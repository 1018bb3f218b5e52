package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedObject;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.beans.BeansException;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryAware;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.MethodIntrospector.MetadataLookup;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import outbox.internal.text.SafeLogger;
import outbox.payload.PayloadCodec;
import outbox.payload.PayloadTypes;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;

/**
 * Finds the methods with {@link OutboxListener} of all beans of a context. It inspects the classes of the beans and
 * creates no bean. A lazy bean is created when its first event arrives. A method that cannot work makes the start of
 * the context fail; the exception names the method and the reason.
 *
 * <pre>{@code
 * @Bean OutboxListenerMethods listenerMethods(PayloadCodec codec) { return new OutboxListenerMethods(codec); }
 * @Bean OutboxListeners listeners(OutboxListenerMethods methods) { return methods.listenersOf(Outbox.DEFAULT); }
 * // where the dispatcher is built: listeners.configure(builder, RetryRules.none(), Protection.none());
 * }</pre>
 */
public final class OutboxListenerMethods
        implements ListenerSource,
                BeanFactoryAware,
                SmartInitializingSingleton,
                ApplicationListener<ContextRefreshedEvent> {

    private static final Logger LOG = SafeLogger.of(OutboxListenerMethods.class);

    private final PayloadReader payloads;
    private final Map<String, Class<?>> seen = new HashMap<>(); // by bean name; guarded by this
    private final Set<String> asked = new TreeSet<>(); // names passed to addTo; guarded by this
    private @Nullable List<ListenerMethod> found; // guarded by this
    private @Nullable ConfigurableListableBeanFactory beans; // set before any other method is called
    private Supplier<Set<String>> outboxes = () -> asked;

    /** Supports payload parameters of type {@code String} and {@code byte[]} only. */
    public OutboxListenerMethods() {
        payloads = new PayloadReader(null, null);
    }

    /** Supports payload parameters of any type that the codec reads. */
    public OutboxListenerMethods(PayloadCodec codec) {
        payloads = new PayloadReader(Objects.requireNonNull(codec, "codec"), null);
    }

    /**
     * Supports payload parameters of any type that the codec reads. Payloads of registered types may
     * have any version.
     */
    public OutboxListenerMethods(PayloadCodec codec, PayloadTypes types) {
        payloads = new PayloadReader(Objects.requireNonNull(codec, "codec"), Objects.requireNonNull(types, "types"));
    }

    /**
     * Sets the supplier of all outbox names; it is called after the context has started. By default, the known
     * outboxes are those that asked for their listeners. An outbox that only writes never asks.
     */
    public OutboxListenerMethods outboxes(Supplier<Set<String>> names) {
        outboxes = Objects.requireNonNull(names, "names");
        return this;
    }

    @Override
    public void setBeanFactory(BeanFactory beanFactory) {
        beans = (ConfigurableListableBeanFactory) beanFactory;
    }

    /** Returns the listeners of one outbox if there are no other listener sources. */
    public OutboxListeners listenersOf(String outbox) {
        OutboxListeners listeners = new OutboxListeners();
        addTo(outbox, listeners);
        return listeners;
    }

    @Override
    public synchronized void addTo(String outbox, OutboxListeners listeners) {
        asked.add(outbox);
        for (ListenerMethod method : methods()) {
            if (method.outbox().equals(outbox)) {
                String origin = origin(method.method());
                refusing(method.method(), () -> method.entries(origin)).forEach(listeners::add);
            }
        }
    }

    /** All singleton beans exist now, so that their final classes are known. */
    @Override
    public synchronized void afterSingletonsInstantiated() {
        if (found != null) { // the methods were searched before all classes were known
            seen.forEach(this::refuseUnseen);
        }
        for (ListenerMethod method : methods()) {
            String bean = method.beanName();
            if (beans().containsSingleton(bean) && beans().isSingleton(bean)) {
                refusing(method.method(), () -> {
                    method.check(beans().getBean(bean));
                    return true;
                });
            }
        }
        seen.clear();
    }

    /** All outboxes that deliver have asked for their listeners by now, unless none was started. */
    @Override
    public synchronized void onApplicationEvent(ContextRefreshedEvent event) {
        if (asked.isEmpty() || event.getApplicationContext().getAutowireCapableBeanFactory() != beans) {
            return;
        }
        Set<String> names = new TreeSet<>(outboxes.get());
        for (ListenerMethod method : methods()) {
            if (!names.contains(method.outbox())) {
                throw new IllegalStateException(origin(method.method()) + " listens to outbox '" + method.outbox()
                        + "', which does not exist. There is: " + String.join(", ", names));
            }
        }
    }

    private void refuseUnseen(String bean, Class<?> seenAs) {
        Class<?> type = classOf(bean);
        if (type == null || type == seenAs) {
            return;
        }
        Set<Method> before = annotated(seenAs).keySet();
        for (Method method : annotated(type).keySet()) {
            if (before.stream().noneMatch(one -> one.getName().equals(method.getName()))) {
                throw new IllegalStateException(origin(method) + " was not seen in time: bean '" + bean
                        + "' is declared as a " + seenAs.getName() + ". Declare it as a " + type.getName());
            }
        }
    }

    private List<ListenerMethod> methods() {
        List<ListenerMethod> known = found;
        if (known == null) {
            known = find();
            found = known;
        }
        return known;
    }

    private List<ListenerMethod> find() {
        List<ListenerMethod> methods = new ArrayList<>();
        for (Iterator<String> names = beans().getBeanNamesIterator(); names.hasNext(); ) {
            String bean = names.next();
            Class<?> type = classOf(bean);
            if (type == null) {
                continue;
            }
            seen.put(bean, type);
            annotated(type)
                    .forEach((method, annotation) -> methods.add(refusing(
                            method, () -> new ListenerMethod(beans(), bean, type, method, annotation, payloads))));
        }
        return List.copyOf(methods);
    }

    /**
     * Returns the class behind all proxies if it is known. Returns null for abstract beans, scoped targets and
     * classes that cannot have listener methods.
     */
    private @Nullable Class<?> classOf(String bean) {
        ConfigurableListableBeanFactory factory = beans();
        boolean isAbstract = factory.containsBeanDefinition(bean)
                && factory.getMergedBeanDefinition(bean).isAbstract();
        if (isAbstract || ScopedProxyUtils.isScopedTarget(bean)) {
            return null;
        }
        Class<?> type = targetClass(factory, bean);
        if (type != null && ScopedObject.class.isAssignableFrom(type)) {
            type = targetClass(factory, ScopedProxyUtils.getTargetBeanName(bean));
        }
        boolean canHaveAny = type != null
                && !type.getName().startsWith("org.springframework.")
                && AnnotationUtils.isCandidateClass(type, OutboxListener.class);
        return canHaveAny ? type : null;
    }

    /**
     * Creates no bean, not even a factory bean. Returns null if the class refers to an optional class that is
     * missing; Spring ignores such classes too.
     */
    private static @Nullable Class<?> targetClass(ConfigurableListableBeanFactory factory, String bean) {
        try {
            return factory.containsSingleton(bean)
                    ? AutoProxyUtils.determineTargetClass(factory, bean)
                    : factory.getType(bean, false);
        } catch (BeansException | LinkageError e) {
            LOG.log(Level.DEBUG, "The class of bean " + bean + " cannot be looked at", e);
            return null;
        }
    }

    private static Map<Method, OutboxListener> annotated(Class<?> type) {
        try {
            return MethodIntrospector.selectMethods(type, (MetadataLookup<OutboxListener>)
                    method -> AnnotatedElementUtils.findMergedAnnotation(method, OutboxListener.class));
        } catch (LinkageError e) { // an optional class is missing; Spring ignores such methods too
            LOG.log(Level.DEBUG, "The methods of " + type.getName() + " cannot be looked at", e);
            return Map.of();
        }
    }

    private static String origin(Method method) {
        return method.getDeclaringClass().getName() + "." + method.getName();
    }

    private interface Step<T> {
        T run();
    }

    private static <T> T refusing(Method method, Step<T> step) {
        try {
            return step.run();
        } catch (IllegalArgumentException | IllegalStateException e) {
            throw new IllegalStateException(
                    "@OutboxListener " + origin(method) + " cannot be used: " + e.getMessage(), e);
        }
    }

    private ConfigurableListableBeanFactory beans() {
        return Objects.requireNonNull(beans, "OutboxListenerMethods must be a bean");
    }
}
