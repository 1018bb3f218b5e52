-- What is paused, for all nodes, until it is resumed. Written by OutboxAdmin.pause and resume, with a record in ${schema}outbox_audit; read by each node about every second.
-- A row written or deleted by hand works too. All outbox tables of a schema share it.
CREATE TABLE IF NOT EXISTS ${schema}outbox_pause (
    outbox_table VARCHAR(128)  NOT NULL,             -- whose events are not delivered: its name in lower case, without schema
    scope        VARCHAR(16)   NOT NULL,             -- OUTBOX, TYPE or LISTENER
    name         VARCHAR(256)  NOT NULL,             -- of the event type or listener; empty for the whole outbox
    paused_at    TIMESTAMP(6)  NOT NULL,
    paused_by    VARCHAR(128)  NOT NULL,
    reason       VARCHAR(1000) NOT NULL,
    PRIMARY KEY (outbox_table, scope, name)
);
