package outbox.spring.boot.inbox;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.transaction.PlatformTransactionManager;
import outbox.inbox.Inbox;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.JdbcInbox;
import outbox.jdbc.OutboxSchema;
import outbox.spring.SpringInbox;
import outbox.spring.SpringTxContext;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.internal.EngineSettings;
import outbox.spring.boot.internal.MissingSchema;
import outbox.spring.boot.internal.OutboxFactory;
import outbox.spring.boot.internal.OutboxNames;
import outbox.spring.boot.internal.OutboxProperties;
import outbox.spring.boot.internal.TransactionManagers;

import java.util.List;
import java.util.stream.Stream;

/** The inbox on its table, and the same inbox as part of Spring's transactions. */
record InboxParts(JdbcInbox table, Inbox inbox) {

    static InboxParts of(
            ListableBeanFactory beans,
            OutboxInboxProperties settings,
            ObjectProvider<OutboxInstance> outboxes,
            OutboxFactory factory) {
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
        builder.table(settings.table() != null ? settings.table() : beside(outbox.table(), builder.build()));
        if (settings.retention() != null) {
            builder.redeliveryWindow(settings.retention());
        }
        JdbcInbox table = builder.build();
        EngineSettings engine = factory.settings(outbox.name());
        OutboxProperties.Jdbc jdbc = engine.properties().jdbc();
        if (jdbc.initializeSchema().appliesTo(outbox.dataSource())) {
            OutboxSchema.createInbox(outbox.dataSource(), table);
        }
        if (jdbc.checkSchema()) {
            requireTable(engine, outbox, table);
        }
        PlatformTransactionManager transactions =
                new TransactionManagers(beans).require(outbox.name(), engine, outbox.dataSource());
        return new InboxParts(table, new SpringInbox(table, txContext, transactions));
    }

    /** Returns the default table name of the inbox, in the schema of the outbox. */
    private static String beside(String outboxTable, JdbcInbox byDefault) {
        return outboxTable.substring(0, outboxTable.indexOf('.') + 1)
                + byDefault.table().simpleName();
    }

    /** Throws if the table is missing. Without it, every message would fail and be redelivered again and again. */
    private static void requireTable(EngineSettings engine, OutboxInstance outbox, JdbcInbox table) {
        List<String> missing = OutboxSchema.missingInbox(outbox.dataSource(), table);
        if (!missing.isEmpty()) {
            AbstractJdbcEventStore database = JdbcEventStores.detect(outbox.dataSource(), outbox.table());
            throw MissingSchema.inbox(engine, database, table, missing);
        }
    }
}
