-- The inbox: which events a consumer has handled, written in the transaction of their effect. Purged by age, by JdbcInbox.purge. Times are UTC.
CREATE TABLE IF NOT EXISTS ${inbox} (
    consumer   VARCHAR(128) NOT NULL,
    event_id   VARCHAR(255) NOT NULL,
    handled_at TIMESTAMPTZ  NOT NULL,                 -- by the clock of the database
    PRIMARY KEY (consumer, event_id)
);
CREATE INDEX IF NOT EXISTS ${inbox_prefix}_age ON ${inbox} (handled_at);
