package outbox.samples.market;

import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.PlatformTransactionManager;
import outbox.OutboxWriter;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.RetryPolicies;
import outbox.dispatch.RetryPolicy;
import outbox.inbox.Inbox;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.InboxLayout;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.JdbcInbox;
import outbox.jdbc.JdbcLeadership;
import outbox.jdbc.LayoutEventStore;
import outbox.jdbc.LayoutSchema;
import outbox.jdbc.OutboxSchema;
import outbox.jdbc.TableLayout;
import outbox.micrometer.OutboxMeters;
import outbox.rabbitmq.RabbitTransport;
import outbox.relay.Relay;
import outbox.spi.ConnectionProvider;
import outbox.spi.Leadership;
import outbox.spi.TxContext;
import outbox.spring.SpringInbox;
import outbox.spring.SpringTxContext;

import java.time.Duration;
import java.util.List;
import javax.sql.DataSource;

/**
 * The outbox and the inbox on the frozen tables, wired by hand. Spring closes beans in the reverse order of their dependencies, which is the right one: first the relay, which finishes
 * what it has, then the transport, then the data source.
 */
@Configuration(proxyBeanMethods = false)
class OutboxConfiguration {

    static final String TABLE = "outbox_events";

    @Bean
    SpringTxContext txContext(DataSource dataSource) {
        return new SpringTxContext(dataSource);
    }

    @Bean
    ConnectionProvider connectionProvider(DataSource dataSource) {
        return new DataSourceConnectionProvider(dataSource);
    }

    /** The table has no place for claims, so one node at a time delivers. The relay closes it. */
    @Bean(destroyMethod = "")
    Leadership leadership(DataSource dataSource, DispatcherSettings settings) {
        OutboxSchema.createLeader(dataSource, JdbcEventStores.detect(dataSource));
        Duration half = settings.scanInterval().dividedBy(2);
        Duration longest = Duration.ofMillis(500);
        return JdbcLeadership.of(dataSource, TABLE, half.compareTo(longest) < 0 ? half : longest);
    }

    @Bean
    @DependsOnDatabaseInitialization
    LayoutEventStore eventStore(DataSource dataSource, Leadership leadership, DispatcherSettings settings) {
        TableLayout layout = TableLayout.textStatus(TABLE).withMaxAttempts(settings.maxAttempts());
        LayoutEventStore store = LayoutEventStore.of(dataSource, layout, leadership);
        LayoutSchema.create(dataSource, store);
        return store;
    }

    @Bean
    OutboxMeters outboxMeters(
            MeterRegistry registry, ConnectionProvider connections, LayoutEventStore store, Leadership leadership) {
        return OutboxMeters.builder(registry, TABLE)
                .backlog(new OutboxAdmin(connections, store)::backlog)
                .relayLeader(leadership::isLeader)
                .build();
    }

    @Bean(initMethod = "start")
    Relay relay(
            ConnectionProvider connections,
            LayoutEventStore store,
            Leadership leadership,
            RabbitTransport transport,
            DispatcherSettings settings,
            OutboxMeters meters) {
        return Relay.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .leadership(leadership)
                .listener(transport)
                .batchSize(settings.batchSize())
                .pollInterval(settings.scanInterval())
                .retryPolicy(retryPolicy(settings.retryDelays()))
                .interceptor(new SendAlert(settings.maxAttempts()))
                .metrics(meters)
                .withoutPurge() // the scope has none
                .build();
    }

    static RetryPolicy retryPolicy(List<Duration> delays) {
        return RetryPolicies.series(
                delays.get(0), delays.subList(1, delays.size()).toArray(Duration[]::new));
    }

    /** Wakes the relay after each commit; what it misses, the next scan finds. */
    @Bean
    OutboxWriter outboxWriter(TxContext txContext, LayoutEventStore store, Relay relay, OutboxMeters meters) {
        return new OutboxWriter(txContext, store, event -> relay.wake()).countedBy(meters);
    }

    @Bean
    @DependsOnDatabaseInitialization
    Inbox inbox(
            DataSource dataSource,
            ConnectionProvider connections,
            SpringTxContext txContext,
            PlatformTransactionManager transactions) {
        JdbcInbox inbox = JdbcInbox.builder()
                .connectionProvider(connections)
                .txContext(txContext)
                .layout(InboxLayout.CONSUME_LOG)
                .build();
        OutboxSchema.createInbox(dataSource, inbox);
        return new SpringInbox(inbox, txContext, transactions);
    }
}
