package outbox.spring.boot;

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

import java.util.List;
import java.util.Map;

/** Registers the beans of each outbox, unless the application has its own: how many there are, only the properties tell. By factory methods, which also work ahead of time. */
final class OutboxRegistrar implements ImportBeanDefinitionRegistrar {

    static final String NAMED = "outbox.named";

    private final Environment environment;
    private final ListableBeanFactory beans;

    OutboxRegistrar(Environment environment, BeanFactory beans) {
        this.environment = environment;
        this.beans = (ListableBeanFactory) beans;
    }

    /** The names of all outboxes. */
    static List<String> names(Environment environment) {
        Map<String, Object> named = Binder.get(environment)
                .bind(NAMED, Bindable.mapOf(String.class, Object.class))
                .orElse(Map.of());
        return named.isEmpty() ? List.of(Outbox.DEFAULT) : List.copyOf(named.keySet());
    }

    @Override
    public void registerBeanDefinitions(AnnotationMetadata metadata, BeanDefinitionRegistry registry) {
        for (String name : names(environment)) {
            String outbox = name.equals(Outbox.DEFAULT) ? "outbox" : name + "Outbox";
            String given = given(OutboxInstance.class, name);
            if (given == null) {
                register(registry, name, OutboxInstance.class, outbox, "instance", name);
            }
            RuntimeBeanReference instance = new RuntimeBeanReference(given == null ? outbox : given);
            if (role(name).writes() && given(OutboxWriter.class, name) == null) {
                register(registry, name, OutboxWriter.class, outbox + "Writer", "writer", instance);
            }
            if (given(OutboxAdmin.class, name) == null) {
                register(registry, name, OutboxAdmin.class, outbox + "Admin", "admin", instance);
            }
        }
    }

    private Role role(String name) {
        String key = name.equals(Outbox.DEFAULT) ? "outbox.role" : NAMED + "." + name + ".role";
        return Binder.get(environment).bind(key, Role.class).orElse(Role.BOTH);
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
        definition.setFactoryBeanName(OutboxAutoConfiguration.FACTORY);
        definition.setUniqueFactoryMethodName(factoryMethod);
        definition.getConstructorArgumentValues().addIndexedArgumentValue(0, argument);
        definition.addQualifier(new AutowireCandidateQualifier(Outbox.class, outbox));
        registry.registerBeanDefinition(bean, definition);
    }

    /** The bean of the application for this outbox, if it has one. */
    private @Nullable String given(Class<?> type, String outbox) {
        for (String bean : beans.getBeanNamesForType(type, true, false)) {
            String named = OutboxBeans.outboxOf(beans, bean);
            if (outbox.equals(named) || named == null && outbox.equals(Outbox.DEFAULT)) {
                return bean;
            }
        }
        return null;
    }
}
