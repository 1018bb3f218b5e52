-- The outbox table. The first 15 columns are the specification's; each further one has a default and brings one capability.
-- Times are UTC and come from the database's clock, occurred_at excepted. Names and ids compare by bytes: 'a' is not 'A'.
CREATE TABLE IF NOT EXISTS ${table} (
    event_id       VARCHAR(36)  NOT NULL PRIMARY KEY,
    event_type     VARCHAR(128) NOT NULL,
    aggregate_type VARCHAR(64),
    aggregate_id   VARCHAR(128),
    tenant_id      VARCHAR(64),
    payload        MEDIUMTEXT   NOT NULL,            -- verbatim, never parsed; JSON would reorder it
    headers        MEDIUMTEXT,                       -- a JSON object of strings
    status         TINYINT      NOT NULL,            -- 0 NEW, 1 DONE, 2 RETRY, 3 DEAD
    attempts       INT          NOT NULL DEFAULT 0,
    available_at   DATETIME(6)  NOT NULL,            -- due from then on
    created_at     DATETIME(6)  NOT NULL,            -- when the row was inserted
    done_at        DATETIME(6),                      -- when it became DONE or DEAD
    last_error     TEXT,
    locked_by      VARCHAR(128),                     -- token of the claim that holds the event
    locked_at      DATETIME(6),                      -- when its lease began
    occurred_at    DATETIME(6)  DEFAULT NULL,        -- keeps the envelope's time on every path
    payload_bytes  MEDIUMBLOB   DEFAULT NULL,        -- payloads that are not text
    CONSTRAINT ${prefix}_status CHECK (status IN (0, 1, 2, 3)),
    CONSTRAINT ${prefix}_lease CHECK ((locked_by IS NULL) = (locked_at IS NULL) AND (locked_by IS NULL OR status IN (0, 2))),
    INDEX ${prefix}_due (status, available_at, created_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

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
    started_at   DATETIME(6)   NOT NULL,
    finished_at  DATETIME(6)                         -- NULL while it is at work, and for ever if it failed midway
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
