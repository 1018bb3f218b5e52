-- The outbox table. The first 15 columns are the specification's; each further one has a default and brings one capability.
-- Times come from the database's clock, occurred_at excepted.
CREATE TABLE IF NOT EXISTS ${table} (
    event_id       VARCHAR(36)  NOT NULL PRIMARY KEY,
    event_type     VARCHAR(128) NOT NULL,
    aggregate_type VARCHAR(64),
    aggregate_id   VARCHAR(128),
    tenant_id      VARCHAR(64),
    payload        TEXT         NOT NULL,            -- verbatim, never parsed; jsonb would reorder it
    headers        TEXT,                             -- a JSON object of strings
    status         SMALLINT     NOT NULL,            -- 0 NEW, 1 DONE, 2 RETRY, 3 DEAD
    attempts       INT          NOT NULL DEFAULT 0,
    available_at   TIMESTAMPTZ  NOT NULL,            -- due from then on
    created_at     TIMESTAMPTZ  NOT NULL,            -- when the row was inserted
    done_at        TIMESTAMPTZ,                      -- when it became DONE or DEAD
    last_error     TEXT,
    locked_by      VARCHAR(128),                     -- token of the claim that holds the event
    locked_at      TIMESTAMPTZ,                      -- when its lease began
    occurred_at    TIMESTAMPTZ  DEFAULT NULL,        -- keeps the envelope's time on every path
    payload_bytes  BYTEA        DEFAULT NULL         -- payloads that are not text
); -- without a CHECK, which PostgreSQL would parse anew for each INSERT: two of them made a write a tenth slower

-- Serves the claim, and holds unfinished events only: history does not slow it down.
CREATE INDEX IF NOT EXISTS ${prefix}_due ON ${table} (available_at, created_at) WHERE status IN (0, 2);

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
    started_at   TIMESTAMPTZ   NOT NULL,
    finished_at  TIMESTAMPTZ                         -- NULL while it is at work, and for ever if it failed midway
);
