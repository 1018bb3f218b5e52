package outbox.spring.boot;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import outbox.spring.Outbox;

import java.util.ArrayList;
import java.util.List;

/** Finds beans of the application that are meant for an outbox: those that name it by {@link Outbox}, and those that name none. */
final class OutboxBeans {

    private final ListableBeanFactory beans;

    OutboxBeans(ListableBeanFactory beans) {
        this.beans = beans;
    }

    /** Those that name the outbox or none, in their order. */
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

    /** The one that names the outbox, else the only one that names none. */
    <T> @Nullable T one(Class<T> type, String outbox) {
        T own = own(type, outbox);
        return own != null ? own : single(type, outbox, null);
    }

    /** The one that names the outbox; the only outbox may have one that names none, since it can be meant for no other. */
    <T> @Nullable T own(Class<T> type, String outbox) {
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

    /** Which outbox a bean names; null if none. */
    static @Nullable String outboxOf(ListableBeanFactory beans, String bean) {
        Outbox named = beans.findAnnotationOnBean(bean, Outbox.class, false);
        return named == null ? null : named.value();
    }
}
