-- The outbox with texts for the status. It has no place for claims: one node at a time works on it. Times are UTC.
CREATE TABLE ${events} (
    id              BIGSERIAL    NOT NULL PRIMARY KEY,
    event_id        VARCHAR(64)  NOT NULL UNIQUE,
    event_type      VARCHAR(64)  NOT NULL,
    aggregate_type  VARCHAR(64)  NOT NULL,
    aggregate_id    BIGINT       NOT NULL,
    payload         TEXT         NOT NULL,
    status          VARCHAR(16)  NOT NULL, -- NEW, SENT, RETRY, FAILED
    retry_count     INT          NOT NULL DEFAULT 0,
    next_retry_time TIMESTAMP    NULL,     -- NULL: due at once
    create_time     TIMESTAMP    NOT NULL,
    update_time     TIMESTAMP    NOT NULL
);

CREATE INDEX ${events_prefix}_status_time ON ${events} (status, next_retry_time);

CREATE INDEX ${events_prefix}_aggregate ON ${events} (aggregate_type, aggregate_id);
