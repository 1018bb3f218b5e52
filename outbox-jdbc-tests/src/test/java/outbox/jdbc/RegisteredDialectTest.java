package outbox.jdbc;

import acme.AcmeDialect;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import outbox.testing.contract.EventStoreContract;
import outbox.testing.contract.StoreFixture;

import java.util.UUID;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;

/** A dialect that is registered as a service and uses only the public types of this library. */
class RegisteredDialectTest {

    private static DataSource pool() {
        return Databases.newPool("jdbc:h2:mem:acme" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1", 10, true);
    }

    @Test
    void it_is_found_by_its_name_and_by_a_url() {
        AbstractJdbcEventStore byName = JdbcEventStores.get("ACME", "billing_event");
        assertThat(byName.dialect()).isInstanceOf(AcmeDialect.class);
        assertThat(byName.table()).isEqualTo(new TableName("billing_event"));

        assertThat(JdbcEventStores.detect("jdbc:acme://db/shop").name()).isEqualTo("acme");
    }

    @Test
    void it_comes_before_ours_for_a_data_source_that_both_know() {
        AbstractJdbcEventStore store = JdbcEventStores.detect(pool(), "billing_event");

        assertThat(store.dialect()).isInstanceOf(AcmeDialect.class);
        assertThat(store.tableName()).isEqualTo("billing_event");
    }

    @Test
    void its_ddl_is_that_of_the_directory_it_names() {
        DataSource pool = pool();
        AbstractJdbcEventStore store = JdbcEventStores.detect(pool, "billing_event");

        OutboxSchema.create(pool, store, Capability.ORDER, Capability.PAUSES);

        assertThat(OutboxSchema.missing(pool, store, Capability.ORDER, Capability.PAUSES))
                .isEmpty();
    }

    /** The contract of every store, on the standard table. */
    @Nested
    class OnTheStandardTable extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() {
            DataSource pool = pool();
            AbstractJdbcEventStore store = JdbcEventStores.detect(pool);
            OutboxSchema.create(pool, store);
            return new StoreFixture(pool, store, AbstractJdbcEventStore.DEFAULT_TABLE, false);
        }
    }

    /** The same contract, on a table that is accessed through a layout. */
    @Nested
    class OnALayout extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() {
            DataSource pool = pool();
            OutboxSchema.create(pool, JdbcEventStores.detect(pool));
            String table = AbstractJdbcEventStore.DEFAULT_TABLE;
            LayoutEventStore store = LayoutEventStore.of(pool, TableLayout.specification(table));
            assertThat(store.dialect()).isInstanceOf(AcmeDialect.class);
            return new StoreFixture(pool, store, table, false);
        }

        @Override
        protected boolean keepsOccurredAt() {
            return false;
        }

        @Override
        protected boolean keepsBytes() {
            return false;
        }
    }
}
