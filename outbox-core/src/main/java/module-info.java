/** The engine and its API: writers, dispatcher, poller, purge and administration. */
@SuppressWarnings("module") // the modules that may use internal packages are compiled after this one
module outbox.core {
    requires transitive java.sql;
    requires static org.jspecify;

    exports outbox;
    exports outbox.admin;
    exports outbox.dispatch;
    exports outbox.inbox;
    exports outbox.model;
    exports outbox.order;
    exports outbox.payload;
    exports outbox.poller;
    exports outbox.purge;
    exports outbox.registry;
    exports outbox.runtime;
    exports outbox.spi;
    exports outbox.util;
    exports outbox.internal to
            outbox.memory,
            outbox.reconcile,
            outbox.relay;
    exports outbox.internal.text to
            outbox.http,
            outbox.jdbc,
            outbox.memory,
            outbox.micrometer,
            outbox.opentelemetry,
            outbox.rabbitmq,
            outbox.reconcile,
            outbox.relay,
            outbox.spring,
            outbox.spring.boot;
}
