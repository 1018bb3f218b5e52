package outbox.spring.boot;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.transaction.PlatformTransactionManager;
import outbox.inbox.Inbox;
import outbox.jdbc.JdbcInbox;
import outbox.jdbc.OutboxSchema;
import outbox.spring.SpringInbox;
import outbox.spring.SpringTxContext;

import java.util.stream.Stream;

/** The inbox in its table, and as it takes part in Spring's transactions. */
record InboxParts(JdbcInbox table, Inbox inbox) {

    static InboxParts of(
            ListableBeanFactory beans,
            OutboxInboxProperties settings,
            ObjectProvider<OutboxInstance> outboxes,
            OutboxProperties properties) {
        OutboxNames.require(
                outboxes,
                Stream.of(new OutboxNames.Use(
                        settings.outbox(), "The inbox (" + OutboxInboxProperties.PREFIX + ".outbox)")));
        OutboxInstance outbox = outboxes.stream()
                .filter(one -> one.name().equals(settings.outbox()))
                .findFirst()
                .orElseThrow();
        SpringTxContext txContext = outbox.txContext() instanceof SpringTxContext springs
                ? springs
                : new SpringTxContext(outbox.dataSource());
        JdbcInbox.Builder builder = JdbcInbox.builder()
                .connectionProvider(outbox.connections())
                .txContext(txContext)
                .layout(settings.layout());
        if (settings.table() != null) {
            builder.table(settings.table());
        }
        if (settings.retention() != null) {
            builder.redeliveryWindow(settings.retention());
        }
        JdbcInbox table = builder.build();
        OutboxProperties its = properties.of(outbox.name());
        if (its.jdbc().initializeSchema().appliesTo(outbox.dataSource())) {
            OutboxSchema.createInbox(outbox.dataSource(), table);
        }
        return new InboxParts(table, new SpringInbox(table, txContext, transactions(beans, its)));
    }

    private static PlatformTransactionManager transactions(ListableBeanFactory beans, OutboxProperties its) {
        String named = its.transactionManager();
        PlatformTransactionManager found = named == null
                ? beans.getBeanProvider(PlatformTransactionManager.class).getIfUnique()
                : beans.getBean(named, PlatformTransactionManager.class);
        if (found == null) {
            throw new IllegalStateException(
                    "The inbox needs the transaction manager of its data source; there are the beans "
                            + String.join(", ", beans.getBeanNamesForType(PlatformTransactionManager.class))
                            + ". Name one by the property transaction-manager of its outbox.");
        }
        return found;
    }
}
