package outbox.spring.boot.internal;

import org.springframework.beans.factory.ListableBeanFactory;
import outbox.spring.boot.diagnostics.OutboxStartException;

import java.util.List;
import javax.sql.DataSource;

/** Finds the data source of an outbox among the beans of the application. */
final class DataSources {

    private final ListableBeanFactory beans;

    DataSources(ListableBeanFactory beans) {
        this.beans = beans;
    }

    DataSource of(String outbox, EngineSettings settings) {
        String asked = settings.properties().dataSource();
        List<String> known = List.of(beans.getBeanNamesForType(DataSource.class));
        if (asked != null) {
            if (!known.contains(asked)) {
                throw settings.check()
                        .refuse("data-source", asked, "the name of a DataSource bean: " + String.join(", ", known));
            }
            return beans.getBean(asked, DataSource.class);
        }
        DataSource only = beans.getBeanProvider(DataSource.class).getIfUnique();
        if (only == null) {
            throw ambiguous(outbox, settings.check().name("data-source"), known);
        }
        return only;
    }

    private static OutboxStartException ambiguous(String outbox, String property, List<String> known) {
        String first = known.isEmpty() ? "dataSource" : known.get(0);
        return new OutboxStartException(
                "Outbox " + outbox + " needs one DataSource, but there are " + known.size() + ": "
                        + String.join(", ", known) + ". None of them is primary",
                """
                Say which one the outbox is in: %s=%s
                Or mark one DataSource with @Primary.
                Or, for an outbox in each, name them: outbox.named.<name>.data-source=%s""".formatted(property, first, first));
    }
}
