package outbox.spring.boot;

import org.springframework.beans.factory.ListableBeanFactory;

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
            throw new AmbiguousDataSourceException(outbox, settings.check().name("data-source"), known);
        }
        return only;
    }
}
