package outbox.spring.boot.internal;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.Capability;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.LayoutEventStore;
import outbox.jdbc.LayoutSchema;
import outbox.jdbc.OutboxSchema;
import outbox.jdbc.TableLayout;
import outbox.spi.EventStore;
import outbox.spi.Leadership;

import java.util.List;
import java.util.stream.Stream;
import javax.sql.DataSource;

/** Creates the tables of an outbox if configured, and checks that they have all required parts. */
final class Tables {

    private final EngineSettings settings;
    private final DataSource dataSource;
    private final @Nullable Leadership leadership;

    Tables(EngineSettings settings, DataSource dataSource, @Nullable Leadership leadership) {
        this.settings = settings;
        this.dataSource = dataSource;
        this.leadership = leadership;
    }

    /** Returns the store after the table was prepared. */
    EventStore prepare() {
        return settings.properties().layout() == Layout.OUTBOX ? ours() : layout();
    }

    private EventStore ours() {
        AbstractJdbcEventStore store = JdbcEventStores.detect(dataSource, settings.table());
        Capability[] capabilities = settings.capabilities().toArray(Capability[]::new);
        if (initializes()) {
            OutboxSchema.create(dataSource, store, capabilities);
            OutboxSchema.create(dataSource, store, Capability.PAUSES); // so that an operator can pause the outbox
            if (leadership != null) {
                OutboxSchema.createLeader(dataSource, store);
            }
        }
        if (settings.properties().jdbc().checkSchema()) {
            require(store, OutboxSchema.missing(dataSource, store, capabilities));
        }
        return store;
    }

    private EventStore layout() {
        TableLayout layout =
                settings.properties().layout().of(settings.table()).withMaxAttempts(settings.maxAttempts());
        LayoutEventStore store = leadership == null
                ? LayoutEventStore.of(dataSource, layout)
                : LayoutEventStore.of(dataSource, layout, leadership);
        if (initializes()) {
            LayoutSchema.create(dataSource, store);
            if (leadership != null) {
                OutboxSchema.createLeader(dataSource, JdbcEventStores.detect(dataSource, settings.table()));
            }
        }
        if (settings.properties().jdbc().checkSchema()) {
            require(JdbcEventStores.detect(dataSource, settings.table()), LayoutSchema.missing(dataSource, store));
        }
        return store;
    }

    private boolean initializes() {
        return settings.properties().jdbc().initializeSchema().appliesTo(dataSource);
    }

    private void require(AbstractJdbcEventStore store, List<String> missing) {
        List<String> leader =
                leadership instanceof RenewedLeadership ? OutboxSchema.missingForLeader(dataSource, store) : List.of();
        if (!missing.isEmpty() || !leader.isEmpty()) {
            List<String> all = Stream.concat(missing.stream(), leader.stream()).toList();
            throw MissingSchema.outbox(settings, store.name(), all, !leader.isEmpty());
        }
    }
}
