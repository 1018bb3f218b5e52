-- The outbox table. The first 15 columns are the specification's; each further one has a default and brings one capability.
-- Times are UTC and come from the database's clock, occurred_at excepted.
CREATE TABLE IF NOT EXISTS ${table} (
    event_id       VARCHAR(36)  NOT NULL PRIMARY KEY,
    event_type     VARCHAR(128) NOT NULL,
    aggregate_type VARCHAR(64),
    aggregate_id   VARCHAR(128),
    tenant_id      VARCHAR(64),
    payload        CLOB         NOT NULL,            -- verbatim, never parsed
    headers        CLOB,                             -- a JSON object of strings
    status         TINYINT      NOT NULL,            -- 0 NEW, 1 DONE, 2 RETRY, 3 DEAD
    attempts       INT          NOT NULL DEFAULT 0,
    available_at   TIMESTAMP(6) NOT NULL,            -- due from then on
    created_at     TIMESTAMP(6) NOT NULL,            -- when the row was inserted
    done_at        TIMESTAMP(6),                     -- when it became DONE or DEAD
    last_error     CLOB,
    locked_by      VARCHAR(128),                     -- token of the claim that holds the event
    locked_at      TIMESTAMP(6),                     -- when its lease began
    occurred_at    TIMESTAMP(6) DEFAULT NULL,        -- keeps the envelope's time on every path
    payload_bytes  VARBINARY(1048576) DEFAULT NULL   -- payloads that are not text
); -- without a CHECK: H2 2.4.240 refuses every INSERT with "Check constraint invalid" once the connection that created one is closed

-- Those of tables that were created earlier.
ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${prefix}_status;
ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${prefix}_lease;

CREATE INDEX IF NOT EXISTS ${prefix}_due ON ${table} (status, available_at, created_at);

-- Who did what to events, and the memory that makes a request happen once.
CREATE TABLE IF NOT EXISTS ${schema}outbox_audit (
    request_id   VARCHAR(64)   NOT NULL PRIMARY KEY,
    outbox_table VARCHAR(128)  NOT NULL,             -- whose events were changed
    action       VARCHAR(32)   NOT NULL,             -- REPLAY or DISCARD
    actor        VARCHAR(128)  NOT NULL,
    reason       VARCHAR(1000) NOT NULL,
    selection    VARCHAR(2000) NOT NULL,             -- which events were meant, in words
    matched      BIGINT        NOT NULL,             -- how many events that were at the start
    affected     BIGINT        NOT NULL,             -- how many were changed, counted in the transactions that changed them
    started_at   TIMESTAMP(6)  NOT NULL,
    finished_at  TIMESTAMP(6)                        -- NULL while it is at work, and for ever if it failed midway
);
