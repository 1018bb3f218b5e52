package outbox.spring;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.AfterCommitHook;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.jdbc.H2EventStore;
import outbox.jdbc.OutboxSchema;
import outbox.spi.Claim;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** A private database with its pool and transaction manager, and a writer whose hook records its calls. */
final class SpringRig implements AutoCloseable {

    private static final AtomicInteger NUMBER = new AtomicInteger();

    final HikariDataSource pool;
    final H2EventStore store = new H2EventStore();
    final DataSourceTransactionManager manager;
    final TransactionTemplate tx;
    final SpringTxContext context;
    final OutboxWriter writer;

    /** The types of the events that the hot path delivered. */
    final List<String> told = new CopyOnWriteArrayList<>();

    SpringRig() {
        this(false);
    }

    SpringRig(boolean gathering) {
        this(gathering, config -> {});
    }

    SpringRig(Consumer<HikariConfig> settings) {
        this(false, settings);
    }

    private SpringRig(boolean gathering, Consumer<HikariConfig> settings) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:h2:mem:spring" + NUMBER.incrementAndGet() + ";DB_CLOSE_DELAY=-1");
        config.setMaximumPoolSize(4);
        config.setConnectionTimeout(5_000);
        settings.accept(config);
        pool = new HikariDataSource(config);
        OutboxSchema.create(pool, store);
        manager = new DataSourceTransactionManager(pool);
        tx = new TransactionTemplate(manager);
        context = new SpringTxContext(pool);
        OutboxWriter inserting = new OutboxWriter(context, store, new Hook());
        writer = gathering ? inserting.gathering() : inserting;
    }

    String write(String eventType) {
        return writer.write(eventType, "{}");
    }

    /** Returns a template with the given propagation. */
    TransactionTemplate tx(int propagation) {
        return template(manager, propagation);
    }

    static TransactionTemplate template(PlatformTransactionManager manager, int propagation) {
        TransactionTemplate template = new TransactionTemplate(manager);
        template.setPropagationBehavior(propagation);
        return template;
    }

    /** Returns the types of the committed events, in their order. */
    List<String> stored() {
        TransactionTemplate fresh = tx(TransactionTemplate.PROPAGATION_REQUIRES_NEW);
        return fresh.execute(status -> new JdbcTemplate(pool)
                .queryForList("SELECT event_type FROM outbox_event ORDER BY event_id", String.class));
    }

    @Override
    public void close() {
        pool.close();
    }

    /** Inserts events with a lease, as a dispatcher does. */
    private final class Hook implements AfterCommitHook {

        @Override
        public Claim birthClaim(int events, long bytes) {
            return Claim.startingNow("rig", Duration.ofMinutes(1));
        }

        @Override
        public void onCommit(EventEnvelope event) {
            told.add(event.eventType());
        }
    }
}
