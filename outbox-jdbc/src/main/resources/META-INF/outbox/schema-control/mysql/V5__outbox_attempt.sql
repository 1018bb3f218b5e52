-- The history of attempts: the last runs of each event that failed, and the success after them. Written with the outcome, shown by OutboxAdmin.find, deleted by
-- the purge that finds the event gone. An event that succeeds at once has no row here. All outbox tables of a schema share it.
CREATE TABLE IF NOT EXISTS ${schema}outbox_attempt (
    attempt_id   BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    outbox_table VARCHAR(128) NOT NULL,              -- whose event it is: its name in lower case, without schema
    event_id     VARCHAR(36)  NOT NULL,
    attempt      INT          NOT NULL,              -- its number, counted from 1 and anew after a replay
    started_at   DATETIME(6)  NOT NULL,
    node         VARCHAR(128) NOT NULL,
    duration_ms  BIGINT       NOT NULL,
    error        TEXT,                               -- NULL for a success
    INDEX outbox_attempt_event (event_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
