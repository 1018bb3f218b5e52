package outbox.spring.boot.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.annotation.ReflectiveRuntimeHintsRegistrar;
import org.springframework.beans.factory.annotation.AnnotatedBeanDefinition;
import org.springframework.beans.factory.aot.BeanFactoryInitializationAotContribution;
import org.springframework.beans.factory.aot.BeanFactoryInitializationAotProcessor;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfigurationPackages;
import org.springframework.context.annotation.ClassPathScanningCandidateComponentProvider;
import org.springframework.core.type.filter.AnnotationTypeFilter;
import org.springframework.util.ClassUtils;
import outbox.spring.OutboxEvent;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Registers hints for classes with {@link OutboxEvent} in a native image. These classes are no beans, so Spring's
 * ahead-of-time processing does not see them. This class searches the packages of the application for them.
 */
final class EventClassHintsProcessor implements BeanFactoryInitializationAotProcessor {

    @Override
    public @Nullable BeanFactoryInitializationAotContribution processAheadOfTime(
            ConfigurableListableBeanFactory beans) {
        Class<?>[] types = eventClasses(beans).toArray(Class<?>[]::new);
        if (types.length == 0) {
            return null;
        }
        return (context, code) ->
                new ReflectiveRuntimeHintsRegistrar().registerRuntimeHints(context.getRuntimeHints(), types);
    }

    private static List<Class<?>> eventClasses(ConfigurableListableBeanFactory beans) {
        List<Class<?>> types = new ArrayList<>();
        if (AutoConfigurationPackages.has(beans)) {
            Scanner scanner = new Scanner();
            for (String name : AutoConfigurationPackages.get(beans)) {
                for (BeanDefinition found : scanner.findCandidateComponents(name)) {
                    String type = Objects.requireNonNull(found.getBeanClassName());
                    types.add(ClassUtils.resolveClassName(type, beans.getBeanClassLoader()));
                }
            }
        }
        return types;
    }

    private static final class Scanner extends ClassPathScanningCandidateComponentProvider {

        Scanner() {
            super(false);
            addIncludeFilter(new AnnotationTypeFilter(OutboxEvent.class, false, true));
        }

        /** Accepts every class, not only those that could be a bean. */
        @Override
        protected boolean isCandidateComponent(AnnotatedBeanDefinition definition) {
            return true;
        }
    }
}
