package outbox.spring.boot.internal;

import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.ConfigurationPropertyState;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import outbox.OutboxWriter;
import outbox.admin.OutboxAdmin;
import outbox.internal.text.SafeLogger;
import outbox.spring.boot.OutboxInstance;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import javax.sql.DataSource;

/**
 * Creates the outboxes of the application from their properties. Its methods are the factory methods of the beans
 * that {@link OutboxRegistrar} registers.
 */
public final class OutboxFactory implements DisposableBean {

    /** The name of the bean. */
    public static final String BEAN = "outboxFactory";

    private static final Logger LOG = SafeLogger.of(OutboxFactory.class);

    private final ListableBeanFactory beans;
    private final Environment environment;
    private final OutboxProperties properties;
    private final Map<String, OutboxEngine> engines = new LinkedHashMap<>(); // guarded by this
    private final SideBySide stops = new SideBySide();

    public OutboxFactory(ListableBeanFactory beans, Environment environment, OutboxProperties properties) {
        this.beans = beans;
        this.environment = environment;
        this.properties = properties;
        if (!properties.named().isEmpty()) {
            requireNoneBesideNamed();
        }
    }

    /**
     * Throws if a key of the default outbox is set together with named outboxes, because the key would
     * have no effect.
     */
    private void requireNoneBesideNamed() {
        List<String> set = Stream.of(OutboxProperties.class.getRecordComponents())
                .map(component -> DataObjectPropertyName.toDashedForm(component.getName()))
                .filter(key -> !key.equals("enabled") && !key.equals("named") && isSet("outbox." + key))
                .toList();
        if (!set.isEmpty()) {
            throw PropertyCheck.of("outbox")
                    .refuse(
                            String.join(" and outbox.", set),
                            "set",
                            "left out beside outbox.named: each outbox has its own, such as outbox.named.orders."
                                    + set.get(0));
        }
    }

    private boolean isSet(String key) {
        ConfigurationPropertyName name = ConfigurationPropertyName.of(key);
        for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
            if (source.getConfigurationProperty(name) != null
                    || source.containsDescendantOf(name) == ConfigurationPropertyState.PRESENT) {
                return true;
            }
        }
        return false;
    }

    OutboxInstance instance(String name) {
        return engine(name);
    }

    OutboxWriter writer(OutboxInstance instance) {
        OutboxWriter writer = instance.writer();
        if (writer == null) {
            throw new IllegalStateException("This process does not write into " + instance);
        }
        return writer;
    }

    OutboxAdmin admin(OutboxInstance instance) {
        return instance.admin();
    }

    /** Returns the engines in the order in which they were created. */
    synchronized Collection<OutboxEngine> engines() {
        return List.copyOf(engines.values());
    }

    private synchronized OutboxEngine engine(String name) {
        OutboxEngine known = engines.get(name);
        if (known == null) {
            EngineSettings settings = settings(name);
            known = new OutboxEngine(name, settings, beans);
            requireOwnTable(known, settings);
            engines.put(name, known);
        }
        return known;
    }

    private void requireOwnTable(OutboxEngine engine, EngineSettings settings) {
        for (OutboxEngine known : engines.values()) {
            if ((engine.relays() || known.relays())
                    && target(known.dataSource()) == target(engine.dataSource())
                    && known.table().equalsIgnoreCase(engine.table())) {
                throw settings.check()
                        .refuse(
                                "table",
                                engine.table(),
                                "another table, or one of another data-source, than that of outbox " + known.name()
                                        + ": one would take the events of the other");
            }
        }
    }

    private static DataSource target(DataSource dataSource) {
        DataSource target = dataSource;
        while (target instanceof DelegatingDataSource proxy && proxy.getTargetDataSource() != null) {
            target = proxy.getTargetDataSource();
        }
        return target;
    }

    public EngineSettings settings(String name) {
        boolean virtual = Runtime.version().feature() >= 21
                && environment.getProperty("spring.threads.virtual.enabled", Boolean.class, false);
        if (properties.named().isEmpty()) {
            return new EngineSettings("outbox", properties, virtual);
        }
        OutboxProperties named = properties.named().get(name);
        if (named == null) {
            throw new NoSuchBeanDefinitionException(OutboxInstance.class, "There is no outbox " + name);
        }
        return new EngineSettings(OutboxRegistrar.NAMED + "." + name, named, virtual);
    }

    /** Begins to stop a component that uses the outboxes. The stop of the outboxes waits for it. */
    public void stopBeside(String name, Runnable step) {
        stops.begin(name, step);
    }

    /**
     * Stops all outboxes, within the longest of their time limits. A step that takes longer continues in the
     * background while the process lives.
     */
    void stop() {
        engines().forEach(engine -> stops.begin(engine.name(), engine::stop));
        Duration longest = properties.named().values().stream()
                .map(OutboxProperties::shutdownTimeout)
                .max(Comparator.naturalOrder())
                .orElse(properties.shutdownTimeout());
        if (!stops.await(longest)) {
            LOG.log(
                    Level.WARNING,
                    "The outbox has not stopped within {0}; what it still had at work comes again after its lease",
                    longest);
        }
    }

    /** Stops the outboxes if the lifecycle of the application was never started, so that nothing else stops them. */
    @Override
    public void destroy() {
        stop();
    }
}
