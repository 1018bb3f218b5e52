package outbox.spring.boot.internal;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import outbox.spring.Outbox;

import java.util.ArrayList;
import java.util.List;

/**
 * Finds the beans of the application that belong to an outbox: beans that name it with {@link Outbox}, and beans
 * that name no outbox.
 */
public final class OutboxBeans {

    private final ListableBeanFactory beans;

    public OutboxBeans(ListableBeanFactory beans) {
        this.beans = beans;
    }

    /** Returns the beans that name this outbox or none, in their order. */
    <T> List<T> all(Class<T> type, String outbox) {
        List<String> meant = new ArrayList<>();
        for (String bean : beans.getBeanNamesForType(type)) {
            String named = outboxOf(beans, bean);
            if (named == null || named.equals(outbox)) {
                meant.add(bean);
            }
        }
        List<T> found = new ArrayList<>();
        meant.forEach(bean -> found.add(beans.getBean(bean, type)));
        return beans.getBeanProvider(type)
                .orderedStream()
                .filter(found::contains)
                .toList();
    }

    /** Returns the bean that names the outbox, else the only bean that names none. */
    public <T> @Nullable T one(Class<T> type, String outbox) {
        T own = own(type, outbox);
        return own != null ? own : single(type, outbox, null);
    }

    /** Returns the bean that names the outbox. For the default outbox, a bean that names none is accepted too. */
    public <T> @Nullable T own(Class<T> type, String outbox) {
        T named = single(type, outbox, outbox);
        return named == null && outbox.equals(Outbox.DEFAULT) ? single(type, outbox, null) : named;
    }

    private <T> @Nullable T single(Class<T> type, String outbox, @Nullable String name) {
        List<String> found = new ArrayList<>();
        for (String bean : beans.getBeanNamesForType(type)) {
            String named = outboxOf(beans, bean);
            if (name == null ? named == null : name.equals(named)) {
                found.add(bean);
            }
        }
        if (found.size() > 1) {
            throw new IllegalStateException("Outbox " + outbox + " can use one " + type.getSimpleName()
                    + ", but there are the beans " + String.join(", ", found)
                    + ". Keep one of them, or say by @Outbox which outbox each is for.");
        }
        return found.isEmpty() ? null : beans.getBean(found.get(0), type);
    }

    /** Returns the outbox that the bean names, or null if it names none. */
    public static @Nullable String outboxOf(ListableBeanFactory beans, String bean) {
        Outbox named = beans.findAnnotationOnBean(bean, Outbox.class, false);
        return named == null ? null : named.value();
    }
}
