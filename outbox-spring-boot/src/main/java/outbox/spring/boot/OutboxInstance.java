package outbox.spring.boot;

import org.jspecify.annotations.Nullable;
import outbox.OutboxWriter;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.OutboxDispatcher;
import outbox.poller.OutboxPoller;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.Leadership;
import outbox.spi.TxContext;
import outbox.spring.OutboxListeners;

import javax.sql.DataSource;

/**
 * One outbox of the application with its parts. There is a bean of this type for each outbox.
 *
 * @param writer null if this process only relays
 * @param dispatcher null if this process only writes, as {@code poller} then is
 * @param leadership null if all nodes deliver
 */
public record OutboxInstance(
        String name,
        String table,
        DataSource dataSource,
        ConnectionProvider connections,
        EventStore store,
        TxContext txContext,
        OutboxListeners listeners,
        OutboxAdmin admin,
        @Nullable OutboxWriter writer,
        @Nullable OutboxDispatcher dispatcher,
        @Nullable OutboxPoller poller,
        @Nullable Leadership leadership) {}
