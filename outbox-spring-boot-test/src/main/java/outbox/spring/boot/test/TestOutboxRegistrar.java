package outbox.spring.boot.test;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.RuntimeBeanReference;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.AutowireCandidateQualifier;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.BeanDefinitionRegistryPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import outbox.spring.Outbox;
import outbox.spring.boot.OutboxInstance;
import outbox.testing.TestOutbox;

/**
 * Registers a {@link TestOutbox} for each outbox, with the same qualifier. The number of outboxes is known only
 * after all other beans are registered.
 */
final class TestOutboxRegistrar implements BeanDefinitionRegistryPostProcessor {

    @Override
    public void postProcessBeanDefinitionRegistry(BeanDefinitionRegistry registry) {
        ConfigurableListableBeanFactory beans = (ConfigurableListableBeanFactory) registry;
        for (String instance : beans.getBeanNamesForType(OutboxInstance.class, true, false)) {
            RootBeanDefinition definition = new RootBeanDefinition();
            definition.setTargetType(TestOutbox.class);
            definition.setFactoryBeanName(OutboxTestSupport.class.getName());
            definition.setUniqueFactoryMethodName("testOutbox");
            definition.getConstructorArgumentValues().addIndexedArgumentValue(0, new RuntimeBeanReference(instance));
            AutowireCandidateQualifier qualifier = qualifier(registry.getBeanDefinition(instance));
            if (qualifier != null) {
                definition.addQualifier(qualifier);
            }
            registry.registerBeanDefinition(instance + "Test", definition);
        }
    }

    private static @Nullable AutowireCandidateQualifier qualifier(BeanDefinition definition) {
        return definition instanceof AbstractBeanDefinition known ? known.getQualifier(Outbox.class.getName()) : null;
    }
}
