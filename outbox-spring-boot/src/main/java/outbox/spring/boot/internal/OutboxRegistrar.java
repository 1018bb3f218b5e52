package outbox.spring.boot.internal;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.config.RuntimeBeanReference;
import org.springframework.beans.factory.support.AutowireCandidateQualifier;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;
import outbox.OutboxWriter;
import outbox.admin.OutboxAdmin;
import outbox.spring.Outbox;
import outbox.spring.boot.OutboxInstance;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * Registers the beans of each outbox, unless the application defines its own. Only the properties say how many
 * outboxes there are. The beans use factory methods, which also work with ahead-of-time processing.
 */
public final class OutboxRegistrar implements ImportBeanDefinitionRegistrar {

    static final String NAMED = "outbox.named";

    private final Environment environment;
    private final ListableBeanFactory beans;

    OutboxRegistrar(Environment environment, BeanFactory beans) {
        this.environment = environment;
        this.beans = (ListableBeanFactory) beans;
    }

    /** Returns the property prefixes of all enabled outboxes, by the name of the outbox. */
    private Map<String, String> prefixes() {
        Binder binder = Binder.get(environment);
        Set<String> named = binder.bind(NAMED, Bindable.mapOf(String.class, Object.class))
                .orElse(Map.of())
                .keySet();
        if (named.isEmpty()) {
            return Map.of(Outbox.DEFAULT, "outbox");
        }
        Map<String, String> prefixes = new LinkedHashMap<>();
        for (String name : named) {
            String prefix = NAMED + "." + name;
            if (binder.bind(prefix + ".enabled", Boolean.class).orElse(true)) {
                prefixes.put(name, prefix);
            }
        }
        return prefixes;
    }

    @Override
    public void registerBeanDefinitions(AnnotationMetadata metadata, BeanDefinitionRegistry registry) {
        prefixes().forEach((name, prefix) -> {
            String outbox = name.equals(Outbox.DEFAULT) ? "outbox" : name + "Outbox";
            String given = given(registry, OutboxInstance.class, name);
            if (given == null) {
                register(registry, name, OutboxInstance.class, outbox, "instance", name);
            }
            RuntimeBeanReference instance = new RuntimeBeanReference(given == null ? outbox : given);
            if (role(prefix).writes() && given(registry, OutboxWriter.class, name) == null) {
                register(registry, name, OutboxWriter.class, outbox + "Writer", "writer", instance);
            }
            if (given(registry, OutboxAdmin.class, name) == null) {
                register(registry, name, OutboxAdmin.class, outbox + "Admin", "admin", instance);
            }
        });
    }

    private Role role(String prefix) {
        return Binder.get(environment).bind(prefix + ".role", Role.class).orElse(Role.BOTH);
    }

    private static void register(
            BeanDefinitionRegistry registry,
            String outbox,
            Class<?> type,
            String bean,
            String factoryMethod,
            Object argument) {
        RootBeanDefinition definition = new RootBeanDefinition();
        definition.setTargetType(type);
        definition.setFactoryBeanName(OutboxFactory.BEAN);
        definition.setUniqueFactoryMethodName(factoryMethod);
        definition.getConstructorArgumentValues().addIndexedArgumentValue(0, argument);
        definition.addQualifier(new AutowireCandidateQualifier(Outbox.class, outbox));
        registry.registerBeanDefinition(bean, definition);
    }

    /** Returns the bean of the application for this outbox, or null if there is none. */
    private @Nullable String given(BeanDefinitionRegistry registry, Class<?> type, String outbox) {
        for (String bean : beans.getBeanNamesForType(type, true, false)) {
            if (isOurs(registry, bean)) {
                continue; // belongs to another outbox
            }
            String named = OutboxBeans.outboxOf(beans, bean);
            if (outbox.equals(named) || named == null && outbox.equals(Outbox.DEFAULT)) {
                return bean;
            }
        }
        return null;
    }

    private static boolean isOurs(BeanDefinitionRegistry registry, String bean) {
        return registry.containsBeanDefinition(bean)
                && OutboxFactory.BEAN.equals(registry.getBeanDefinition(bean).getFactoryBeanName());
    }
}
