-- The outbox with texts for the status. It has no place for claims: one node at a time works on it. Times are UTC.
CREATE TABLE ${events} (
    id              BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    event_id        VARCHAR(64)  NOT NULL UNIQUE,
    event_type      VARCHAR(64)  NOT NULL,
    aggregate_type  VARCHAR(64)  NOT NULL,
    aggregate_id    BIGINT       NOT NULL,
    payload         TEXT         NOT NULL,
    status          VARCHAR(16)  NOT NULL, -- NEW, SENT, RETRY, FAILED
    retry_count     INT          NOT NULL DEFAULT 0,
    next_retry_time DATETIME     NULL,     -- NULL: due at once
    create_time     DATETIME     NOT NULL,
    update_time     DATETIME     NOT NULL,
    INDEX idx_status_time (status, next_retry_time),
    INDEX idx_aggregate (aggregate_type, aggregate_id)
) DEFAULT CHARSET = utf8mb4;
