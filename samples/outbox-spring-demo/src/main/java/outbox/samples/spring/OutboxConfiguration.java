package outbox.samples.spring;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.OutboxSchema;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;
import outbox.registry.ListenerRegistry;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.TxContext;
import outbox.spring.SpringTxContext;

import javax.sql.DataSource;

/**
 * The outbox, wired by hand. Spring closes beans in the reverse order of their dependencies, which is the right one: first the poller, so that nothing new comes, then the
 * dispatcher, which finishes what it has, then the data source.
 */
@Configuration(proxyBeanMethods = false)
class OutboxConfiguration {

    @Bean
    TxContext txContext(DataSource dataSource) {
        return new SpringTxContext(dataSource);
    }

    @Bean
    EventStore eventStore(DataSource dataSource) {
        AbstractJdbcEventStore store = JdbcEventStores.detect(dataSource);
        OutboxSchema.create(dataSource, store);
        return store;
    }

    @Bean
    ConnectionProvider connectionProvider(DataSource dataSource) {
        return new DataSourceConnectionProvider(dataSource);
    }

    @Bean
    ListenerRegistry listenerRegistry(Deliveries deliveries) {
        return new DefaultListenerRegistry().register(Order.AGGREGATE, Order.PLACED, deliveries);
    }

    @Bean
    OutboxDispatcher outboxDispatcher(ConnectionProvider connections, EventStore store, ListenerRegistry listeners) {
        return OutboxDispatcher.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .listenerRegistry(listeners)
                .build();
    }

    @Bean(initMethod = "start")
    OutboxPoller outboxPoller(ConnectionProvider connections, EventStore store, OutboxDispatcher dispatcher) {
        return OutboxPoller.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .build();
    }

    @Bean
    OutboxWriter outboxWriter(TxContext txContext, EventStore store, OutboxDispatcher dispatcher) {
        return new OutboxWriter(txContext, store, new DispatcherCommitHook(dispatcher));
    }
}
