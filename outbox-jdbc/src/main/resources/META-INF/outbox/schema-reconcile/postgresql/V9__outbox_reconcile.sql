-- Reconciliation: one row per job, and the history of its runs. Written by Reconciler, each run of which has its job by a lease, and by OutboxAdmin.reconcile; shown by
-- OutboxAdmin.reconcileJobs and reconcileRuns. Times are the database's. All outbox tables of a schema share both.
CREATE TABLE IF NOT EXISTS ${schema}outbox_reconcile_job (
    outbox_table VARCHAR(128) NOT NULL,              -- where its events go: its name in lower case, without schema
    job          VARCHAR(64)  NOT NULL,
    schedule     VARCHAR(512) NOT NULL,              -- in words
    next_at      TIMESTAMPTZ  NOT NULL,              -- when its next run is due
    checkpoint   VARCHAR(512),                       -- where that goes on; moved with the events that are written. NULL: at the beginning of the window
    sweep_at     TIMESTAMPTZ,                        -- when the look through the window began that is under way
    swept_at     TIMESTAMPTZ,                        -- when the last one began that got to the end of the window
    run_id       VARCHAR(36),                        -- of the run that has the job; only this one may change the row
    lease_until  TIMESTAMPTZ,                        -- from then on another run may take it
    request_id   VARCHAR(64),                        -- of the request that waits or is being served
    requested_at TIMESTAMPTZ,
    requested_by VARCHAR(128),
    request_dry  SMALLINT,                           -- 1 if a dry run is wanted
    PRIMARY KEY (outbox_table, job)
);
CREATE TABLE IF NOT EXISTS ${schema}outbox_reconcile (
    run_id       VARCHAR(36)  NOT NULL PRIMARY KEY,
    outbox_table VARCHAR(128) NOT NULL,
    job          VARCHAR(64)  NOT NULL,
    node         VARCHAR(128) NOT NULL,
    started_at   TIMESTAMPTZ  NOT NULL,
    ended_at     TIMESTAMPTZ,                        -- NULL while it runs
    found        BIGINT       NOT NULL,              -- facts without event or effect
    fixed        BIGINT       NOT NULL,              -- events written for them
    checkpoint   VARCHAR(512),
    error        TEXT,
    dry_run      SMALLINT     NOT NULL,              -- 1 if it only looked
    request_id   VARCHAR(64)
);
CREATE INDEX IF NOT EXISTS outbox_reconcile_started ON ${schema}outbox_reconcile (outbox_table, job, started_at);
